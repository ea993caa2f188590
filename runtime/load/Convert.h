//===- Convert.h - element conversions of weight packing --------*- C++ -*-===//
#pragma once

#include "gaudi/Tensor.h"

#include <cstddef>

namespace gaudi::pack {

/// Converts `count` elements between unaligned, non-overlapping arrays, rounding to nearest even.
using ConvertFn = void (*)(const std::byte *from, std::byte *to, size_t count);

/// Null if there is no such conversion. There is one for equal types and between any two of f32, f16 and bf16, and
/// f64 -> f32. NaN stays NaN (quiet), values above the range become infinite.
ConvertFn findConvert(DType from, DType to);

} // namespace gaudi::pack
