//===- Names.cpp - spellings of keys, modes and kinds ---------------------===//
#include "runtime/cache/Cache.h"

#include <cstdlib>

namespace gaudi::cache {

static constexpr std::string_view modeNames[] = {"off", "ro", "rw", "refresh", "require", "verify"};
static constexpr std::string_view kindNames[] = {"program", "kernel", "weights"};

std::string_view nameOf(Mode mode) { return modeNames[static_cast<size_t>(mode)]; }
std::string_view nameOf(Kind kind) { return kindNames[static_cast<size_t>(kind)]; }

bool parseMode(std::string_view name, Mode &out) {
  for (size_t i = 0; i < std::size(modeNames); ++i) {
    if (modeNames[i] == name) {
      out = static_cast<Mode>(i);
      return true;
    }
  }
  return false;
}

std::string Key::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (uint8_t byte : bytes) {
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 15]);
  }
  return out;
}

static int hexValue(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool Key::parse(std::string_view text, Key &out) {
  if (text.size() != 64)
    return false;
  for (size_t i = 0; i < 32; ++i) {
    int high = hexValue(text[2 * i]), low = hexValue(text[2 * i + 1]);
    if (high < 0 || low < 0)
      return false;
    out.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

/// Relative values are ignored, as the XDG specification asks: the cache must not depend on the working folder.
static std::string absoluteEnv(const char *name) {
  const char *value = std::getenv(name);
  return value && value[0] == '/' ? value : "";
}

std::string defaultDirectory() {
  if (std::string dir = absoluteEnv("GAUDI_CACHE_DIR"); !dir.empty())
    return dir;
  if (std::string dir = absoluteEnv("XDG_CACHE_HOME"); !dir.empty())
    return dir + "/gaudi";
  std::string home = absoluteEnv("HOME");
  return home.empty() ? home : home + "/.cache/gaudi";
}

} // namespace gaudi::cache
