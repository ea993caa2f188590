//===- Transpose.cpp - blocked transposition ------------------------------===//
#include "runtime/load/Transpose.h"

#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace gaudi::pack {

namespace {

template <size_t size>
void transposeScalar(const std::byte *from, size_t fromPitch, std::byte *out, size_t outPitch, size_t rows,
                     size_t cols) {
  for (size_t c = 0; c < cols; ++c)
    for (size_t r = 0; r < rows; ++r)
      std::memcpy(out + (c * outPitch + r) * size, from + (r * fromPitch + c) * size, size);
}

#ifdef __SSE2__
__m128i load(const std::byte *p) { return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p)); }
void store(std::byte *p, __m128i v) { _mm_storeu_si128(reinterpret_cast<__m128i *>(p), v); }

/// 4x4 elements of 4 bytes; pitches in bytes.
void block32(const std::byte *from, size_t fromPitch, std::byte *out, size_t outPitch) {
  __m128i a = load(from), b = load(from + fromPitch), c = load(from + 2 * fromPitch), d = load(from + 3 * fromPitch);
  __m128i ab0 = _mm_unpacklo_epi32(a, b), ab1 = _mm_unpackhi_epi32(a, b);
  __m128i cd0 = _mm_unpacklo_epi32(c, d), cd1 = _mm_unpackhi_epi32(c, d);
  store(out, _mm_unpacklo_epi64(ab0, cd0));
  store(out + outPitch, _mm_unpackhi_epi64(ab0, cd0));
  store(out + 2 * outPitch, _mm_unpacklo_epi64(ab1, cd1));
  store(out + 3 * outPitch, _mm_unpackhi_epi64(ab1, cd1));
}

/// 8x8 elements of 2 bytes; pitches in bytes.
void block16(const std::byte *from, size_t fromPitch, std::byte *out, size_t outPitch) {
  __m128i row[8], pairs[8], quads[8];
  for (size_t i = 0; i < 8; ++i)
    row[i] = load(from + i * fromPitch);
  for (size_t i = 0; i < 4; ++i) {
    pairs[i] = _mm_unpacklo_epi16(row[2 * i], row[2 * i + 1]);
    pairs[i + 4] = _mm_unpackhi_epi16(row[2 * i], row[2 * i + 1]);
  }
  for (size_t half = 0; half < 8; half += 4) { // columns 0-3, then 4-7
    quads[half] = _mm_unpacklo_epi32(pairs[half], pairs[half + 1]);
    quads[half + 1] = _mm_unpackhi_epi32(pairs[half], pairs[half + 1]);
    quads[half + 2] = _mm_unpacklo_epi32(pairs[half + 2], pairs[half + 3]);
    quads[half + 3] = _mm_unpackhi_epi32(pairs[half + 2], pairs[half + 3]);
  }
  for (size_t half = 0; half < 8; half += 4) {
    store(out + half * outPitch, _mm_unpacklo_epi64(quads[half], quads[half + 2]));
    store(out + (half + 1) * outPitch, _mm_unpackhi_epi64(quads[half], quads[half + 2]));
    store(out + (half + 2) * outPitch, _mm_unpacklo_epi64(quads[half + 1], quads[half + 3]));
    store(out + (half + 3) * outPitch, _mm_unpackhi_epi64(quads[half + 1], quads[half + 3]));
  }
}
#endif

using BlockFn = void (*)(const std::byte *, size_t, std::byte *, size_t);

/// Whole blocks of n x n through `block`, the borders element by element.
template <size_t size, size_t n, BlockFn block>
void transposeBlocks(const std::byte *from, size_t fromPitch, std::byte *out, size_t outPitch, size_t rows,
                     size_t cols) {
  size_t fullRows = rows / n * n, fullCols = cols / n * n;
  for (size_t c = 0; c < fullCols; c += n)
    for (size_t r = 0; r < fullRows; r += n)
      block(from + (r * fromPitch + c) * size, fromPitch * size, out + (c * outPitch + r) * size, outPitch * size);
  transposeScalar<size>(from + fullRows * fromPitch * size, fromPitch, out + fullRows * size, outPitch, rows - fullRows,
                        cols);
  transposeScalar<size>(from + fullCols * size, fromPitch, out + fullCols * outPitch * size, outPitch, fullRows,
                        cols - fullCols);
}

} // namespace

void transpose(const std::byte *from, size_t fromPitch, std::byte *out, size_t outPitch, size_t rows, size_t cols,
               size_t elementBytes) {
  switch (elementBytes) {
  case 1:
    return transposeScalar<1>(from, fromPitch, out, outPitch, rows, cols);
#ifdef __SSE2__
  case 2:
    return transposeBlocks<2, 8, block16>(from, fromPitch, out, outPitch, rows, cols);
  case 4:
    return transposeBlocks<4, 4, block32>(from, fromPitch, out, outPitch, rows, cols);
#else
  case 2:
    return transposeScalar<2>(from, fromPitch, out, outPitch, rows, cols);
  case 4:
    return transposeScalar<4>(from, fromPitch, out, outPitch, rows, cols);
#endif
  default:
    return transposeScalar<8>(from, fromPitch, out, outPitch, rows, cols);
  }
}

} // namespace gaudi::pack
