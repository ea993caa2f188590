//===- Words.h - reading and showing small values ---------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gaudi::run {

/// The candidate with the smallest edit distance if that is small enough to be a typing error; "" otherwise.
std::string nearestName(std::string_view name, const std::vector<std::string> &candidates);
/// "; did you mean 'x'?" or "".
std::string didYouMean(std::string_view name, const std::vector<std::string> &candidates);

/// "4096", "512KiB", "1.5GiB". False if malformed or over 2^63.
bool parseSize(std::string_view text, uint64_t &bytes);
/// "250ms", "3s", "2m"; a bare number is seconds. False if malformed or negative.
bool parseDuration(std::string_view text, double &seconds);
/// Whole-string decimal numbers, independent of the locale; "inf" and "nan" too.
bool parseNumber(std::string_view text, double &value);
bool parseNumber(std::string_view text, int64_t &value);
bool parseNumber(std::string_view text, uint64_t &value);

std::vector<std::string_view> split(std::string_view text, char separator);

/// `value` with `digits` decimals.
std::string fixed(double value, int digits);
/// Six significant digits, shortest form: "0.00012", "1.5e-07".
std::string brief(double value);
/// "2.1 us", "812 us", "3.1 ms", "41.2 s".
std::string duration(double ms);

} // namespace gaudi::run
