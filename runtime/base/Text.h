//===- Text.h - building messages -------------------------------*- C++ -*-===//
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace gaudi {

namespace detail {
inline void append(std::string &out, std::string_view s) { out.append(s); }
inline void append(std::string &out, char c) { out.push_back(c); }
template <std::integral T> void append(std::string &out, T v) {
  char buffer[24];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  out.append(buffer, end);
}
} // namespace detail

/// Concatenates strings, characters and integers. The runtime uses this instead of fmt to stay free of dependencies;
/// unlike printf it does not depend on the locale.
template <typename... Parts> std::string cat(const Parts &...parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

/// Elements joined by `separator`.
template <typename Range> std::string join(const Range &range, std::string_view separator) {
  std::string out;
  for (const auto &element : range) {
    if (!out.empty())
      out.append(separator);
    detail::append(out, element);
  }
  return out;
}

/// "512 bytes", "1.5 KiB", "418.2 MiB": for people, one decimal.
inline std::string formatBytes(uint64_t bytes) {
  if (bytes < 1024)
    return cat(bytes, " bytes");
  const char *units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  uint64_t whole = bytes, rest = 0;
  for (; unit < 6 && whole >= 1024; ++unit) {
    rest = whole & 1023;
    whole >>= 10;
  }
  return cat(whole, '.', rest * 10 / 1024, ' ', units[unit - 1]);
}

} // namespace gaudi
