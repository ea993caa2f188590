//===- Hash.cpp - xxh3-128 integrity digests ------------------------------===//
#include "runtime/base/Hash.h"

// Inlined, so that the runtime does not depend on libxxhash.so at run time.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace gaudi {

static Digest128 canonical(XXH128_hash_t hash) {
  XXH128_canonical_t raw;
  XXH128_canonicalFromHash(&raw, hash);
  Digest128 digest;
  std::memcpy(digest.bytes.data(), raw.digest, sizeof raw.digest);
  return digest;
}

std::string toHex(const Digest128 &digest) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(32);
  for (uint8_t byte : digest.bytes) {
    hex.push_back(digits[byte >> 4]);
    hex.push_back(digits[byte & 15]);
  }
  return hex;
}

static int hexValue(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool parseHex(std::string_view hex, Digest128 &out) {
  if (hex.size() != 32)
    return false;
  for (size_t i = 0; i < 16; ++i) {
    int high = hexValue(hex[2 * i]), low = hexValue(hex[2 * i + 1]);
    if (high < 0 || low < 0)
      return false;
    out.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

Digest128 xxh3(std::span<const std::byte> data) { return canonical(XXH3_128bits(data.data(), data.size())); }

struct Xxh3Stream::State {
  XXH3_state_t xxh;
};

Xxh3Stream::Xxh3Stream() : state(std::make_unique<State>()) { XXH3_128bits_reset(&state->xxh); }
Xxh3Stream::~Xxh3Stream() = default;

void Xxh3Stream::update(std::span<const std::byte> data) { XXH3_128bits_update(&state->xxh, data.data(), data.size()); }
Digest128 Xxh3Stream::digest() const { return canonical(XXH3_128bits_digest(&state->xxh)); }

} // namespace gaudi
