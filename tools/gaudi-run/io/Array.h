//===- Array.h - an owned tensor --------------------------------*- C++ -*-===//
#pragma once

#include "gaudi/Tensor.h"

#include <cstdlib>
#include <memory>
#include <new>
#include <string>

namespace gaudi::io {

/// Row-major, native-endian data with its type and shape. Movable only: arrays can be gigabytes.
struct Array {
  TensorSpec spec;
  struct Free {
    void operator()(void *p) const { std::free(p); }
  };
  std::unique_ptr<std::byte[], Free> data;

  /// Zeroed, 64-byte aligned storage for `spec`, whose element count must be known not to overflow.
  static Array zeros(TensorSpec spec) {
    Array array;
    size_t size = (spec.sizeBytes() + 63) / 64 * 64;
    array.data.reset(static_cast<std::byte *>(std::aligned_alloc(64, size ? size : 64)));
    if (array.data)
      __builtin_memset(array.data.get(), 0, size ? size : 64);
    array.spec = std::move(spec);
    return array;
  }

  /// False if the memory could not be had.
  bool valid() const { return data != nullptr; }
  TensorView view() const { return {data.get(), spec.sizeBytes()}; }
  template <typename T> T *as() { return reinterpret_cast<T *>(data.get()); }
  template <typename T> const T *as() const { return reinterpret_cast<const T *>(data.get()); }
};

} // namespace gaudi::io
