//===- Hash.h - xxh3-128 integrity digests ----------------------*- C++ -*-===//
//
// For integrity (bit rot, truncation, mixed-up files), not for trust: an attacker can forge it. Cache keys use BLAKE3.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gaudi {

/// The canonical (big-endian) 16 bytes of an xxh3-128.
struct Digest128 {
  std::array<uint8_t, 16> bytes{};
  bool operator==(const Digest128 &) const = default;
};

/// 32 lower-case hex digits.
std::string toHex(const Digest128 &digest);
/// Inverse of toHex; false if `hex` is not 32 hex digits.
bool parseHex(std::string_view hex, Digest128 &out);

/// xxh3-128 of one piece of memory (about 6 GB/s).
Digest128 xxh3(std::span<const std::byte> data);

/// xxh3-128 of data that arrives in pieces.
class Xxh3Stream {
public:
  Xxh3Stream();
  ~Xxh3Stream();
  Xxh3Stream(const Xxh3Stream &) = delete;
  Xxh3Stream &operator=(const Xxh3Stream &) = delete;

  void update(std::span<const std::byte> data);
  Digest128 digest() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace gaudi
