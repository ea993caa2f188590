//===- Transpose.h - blocked transposition ----------------------*- C++ -*-===//
#pragma once

#include <cstddef>

namespace gaudi::pack {

/// Writes out[c * outPitch + r] = from[r * fromPitch + c] for r < rows, c < cols; pitches in elements, no alignment
/// needed. Meant for tiles that fit the first-level cache. elementBytes is 1, 2, 4 or 8.
void transpose(const std::byte *from, size_t fromPitch, std::byte *out, size_t outPitch, size_t rows, size_t cols,
               size_t elementBytes);

} // namespace gaudi::pack
