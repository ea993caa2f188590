//===- SafeMath.h - overflow-checked size arithmetic ------------*- C++ -*-===//
//
// For every count, size and offset that comes from a file. The functions return false instead of wrapping.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>

namespace gaudi {

[[nodiscard]] inline bool checkedAdd(uint64_t a, uint64_t b, uint64_t &out) {
  return !__builtin_add_overflow(a, b, &out);
}

[[nodiscard]] inline bool checkedMul(uint64_t a, uint64_t b, uint64_t &out) {
  return !__builtin_mul_overflow(a, b, &out);
}

/// True if bytes [offset, offset + size) lie inside [0, total).
[[nodiscard]] inline bool insideRange(uint64_t offset, uint64_t size, uint64_t total) {
  return offset <= total && size <= total - offset;
}

/// Product of dims; false if one is negative or the product passes int64.
[[nodiscard]] inline bool checkedElementCount(std::span<const int64_t> dims, uint64_t &out) {
  // A zero dim makes the tensor empty whatever the others are, but the others must still be representable together.
  uint64_t product = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return false;
    empty |= dim == 0;
    if (dim && (!checkedMul(product, static_cast<uint64_t>(dim), product) || product > uint64_t(INT64_MAX)))
      return false;
  }
  out = empty ? 0 : product;
  return true;
}

constexpr bool isPowerOfTwo(uint64_t v) { return v && !(v & (v - 1)); }

/// Smallest multiple of `align` (a power of two) that is >= v; wraps only within `align` of 2^64.
constexpr uint64_t alignUp(uint64_t v, uint64_t align) { return (v + align - 1) & ~(align - 1); }

constexpr uint64_t ceilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

} // namespace gaudi
