//===- Json.cpp - writing JSON --------------------------------------------===//
#include "runtime/cache/Json.h"

#include <charconv>
#include <cmath>

namespace gaudi::json {

/// Length of the valid UTF-8 sequence at the start of `s`, 0 if there is none.
static size_t sequenceLength(std::string_view s) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<uint8_t>(s[i]) : 0; };
  auto continues = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  uint8_t lead = byte(0);
  if (lead < 0x80)
    return 1;
  if (lead >= 0xc2 && lead < 0xe0)
    return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead < 0xf0) {
    bool overlong = lead == 0xe0 && byte(1) < 0xa0, surrogate = lead == 0xed && byte(1) > 0x9f;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xf0 && lead < 0xf5) {
    bool overlong = lead == 0xf0 && byte(1) < 0x90, outside = lead == 0xf4 && byte(1) > 0x8f;
    return continues(1) && continues(2) && continues(3) && !overlong && !outside ? 4 : 0;
  }
  return 0;
}

static void escapeControl(std::string &out, char c) {
  static constexpr char digits[] = "0123456789abcdef";
  switch (c) {
  case '\n':
    out += "\\n";
    return;
  case '\t':
    out += "\\t";
    return;
  case '\r':
    out += "\\r";
    return;
  default:
    out += "\\u00";
    out += digits[(c >> 4) & 1];
    out += digits[c & 15];
  }
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    size_t length = sequenceLength(text);
    char c = text[0];
    if (length == 0)
      out += "\xef\xbf\xbd";
    else if (length > 1)
      out += text.substr(0, length);
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      escapeControl(out, c);
    else
      out += c;
    text.remove_prefix(length ? length : 1);
  }
  return out += '"';
}

std::string number(double value) {
  if (!std::isfinite(value))
    return "null";
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

void Writer::separate() {
  if (needsComma)
    out += ',';
}

Writer &Writer::open(char c) {
  separate();
  out += c;
  needsComma = false;
  return *this;
}

Writer &Writer::close(char c) {
  out += c;
  needsComma = true;
  return *this;
}

Writer &Writer::key(std::string_view name) {
  separate();
  (out += quote(name)) += ':';
  needsComma = false;
  return *this;
}

Writer &Writer::raw(std::string_view text) {
  separate();
  out += text;
  needsComma = true;
  return *this;
}

} // namespace gaudi::json
