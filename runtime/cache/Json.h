//===- Json.h - writing JSON ------------------------------------*- C++ -*-===//
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace gaudi::json {

/// `text` in quotes, escaped. Bytes that are not UTF-8 become U+FFFD: paths are bytes, JSON is text.
std::string quote(std::string_view text);
/// Shortest decimal that reads back equal, independent of the locale; "null" for NaN and infinities.
std::string number(double value);

/// Builds one value piece by piece; commas are its business.
///   Writer w; w.beginObject().key("a").value(1).endObject();  w.text() == R"({"a":1})"
class Writer {
public:
  Writer &beginObject() { return open('{'); }
  Writer &endObject() { return close('}'); }
  Writer &beginArray() { return open('['); }
  Writer &endArray() { return close(']'); }
  Writer &key(std::string_view name);
  Writer &value(std::string_view text) { return raw(quote(text)); }
  Writer &value(const char *text) { return value(std::string_view(text)); }
  Writer &value(const std::string &text) { return value(std::string_view(text)); }
  Writer &value(bool b) { return raw(b ? "true" : "false"); }
  Writer &value(double v) { return raw(number(v)); }
  template <std::integral T> Writer &value(T v) { return raw(std::to_string(v)); }
  /// key() and value() in one.
  template <typename T> Writer &field(std::string_view name, const T &v) { return key(name).value(v); }
  const std::string &text() const { return out; }

private:
  Writer &open(char c);
  Writer &close(char c);
  Writer &raw(std::string_view text);
  void separate();

  std::string out;
  bool needsComma = false;
};

} // namespace gaudi::json
