//===- Words.cpp - reading and showing small values -----------------------===//
#include "tools/gaudi-run/Words.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

namespace gaudi::run {

/// Levenshtein distance; names are short, so the quadratic table is fine.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string nearestName(std::string_view name, const std::vector<std::string> &candidates) {
  std::string best;
  size_t least = std::max<size_t>(2, name.size() / 3) + 1; // more edits than that is another word
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(name, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string didYouMean(std::string_view name, const std::vector<std::string> &candidates) {
  std::string nearest = nearestName(name, candidates);
  return nearest.empty() ? nearest : cat("; did you mean '", nearest, "'?");
}

template <typename T> static bool parseWhole(std::string_view text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}
bool parseNumber(std::string_view text, double &value) { return parseWhole(text, value); }
bool parseNumber(std::string_view text, int64_t &value) { return parseWhole(text, value); }
bool parseNumber(std::string_view text, uint64_t &value) { return parseWhole(text, value); }

/// Splits "1.5GiB" into number and unit.
static bool parseWithUnit(std::string_view text, double &value, std::string_view &unit) {
  size_t digits = text.find_first_not_of("0123456789.");
  unit = digits == std::string_view::npos ? "" : text.substr(digits);
  return parseNumber(text.substr(0, text.size() - unit.size()), value);
}

bool parseSize(std::string_view text, uint64_t &bytes) {
  static constexpr std::string_view units[] = {"", "KiB", "MiB", "GiB", "TiB"};
  double value;
  std::string_view unit;
  if (!parseWithUnit(text, value, unit))
    return false;
  double factor = 1;
  for (std::string_view known : units) {
    if (unit == known || (unit.size() == 1 && known.starts_with(unit))) {
      if (value * factor >= 0x1p63)
        return false;
      bytes = static_cast<uint64_t>(value * factor);
      return true;
    }
    factor *= 1024;
  }
  return false;
}

bool parseDuration(std::string_view text, double &seconds) {
  std::string_view unit;
  if (!parseWithUnit(text, seconds, unit))
    return false;
  if (unit == "ms")
    seconds /= 1000;
  else if (unit == "m" || unit == "min")
    seconds *= 60;
  else if (unit != "s" && !unit.empty())
    return false;
  return true;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at; (at = text.find(separator)) != std::string_view::npos; text.remove_prefix(at + 1))
    parts.push_back(text.substr(0, at));
  parts.push_back(text);
  return parts;
}

std::string fixed(double value, int digits) {
  char buffer[400];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, digits);
  return {buffer, end};
}

std::string brief(double value) {
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 6).ptr};
}

std::string duration(double ms) {
  if (ms < 1)
    return fixed(ms * 1000, ms < 0.01 ? 1 : 0) + " us";
  if (ms < 1000)
    return fixed(ms, ms < 100 ? 1 : 0) + " ms";
  return fixed(ms / 1000, 1) + " s";
}

} // namespace gaudi::run
