//===- WireReader.h - bounds-checked cursor over protobuf bytes -*- C++ -*-===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gaudi {

enum class WireType : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, GroupBegin = 3, GroupEnd = 4, Fixed32 = 5 };

/// Reads forward in [position, end) of a buffer; every function returns false instead of passing the end.
class WireReader {
public:
  WireReader(std::span<const std::byte> data, size_t begin, size_t end) : data(data), position(begin), limit(end) {}

  bool atEnd() const { return position == limit; }
  size_t offset() const { return position; }
  size_t end() const { return limit; }

  bool varint(uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && position < limit; shift += 7) {
      auto byte = static_cast<uint64_t>(data[position++]);
      value |= (byte & 0x7f) << shift; // the tenth byte's upper bits fall off, as in protobuf
      if (!(byte & 0x80))
        return true;
    }
    return false;
  }

  bool skip(uint64_t count) {
    if (count > limit - position)
      return false;
    position += static_cast<size_t>(count);
    return true;
  }

private:
  std::span<const std::byte> data;
  size_t position, limit;
};

} // namespace gaudi
