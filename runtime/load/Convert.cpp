//===- Convert.cpp - element conversions of weight packing ----------------===//
#include "runtime/load/Convert.h"

#include <bit>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace gaudi::pack {

namespace {

uint16_t toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40); // rounding could turn a NaN into infinity: make it quiet instead
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float fromBf16(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

float fromF16(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) // infinity or NaN, made quiet as the hardware does
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13 | (magnitude > 0x7c00 ? 0x400000 : 0));
  if (magnitude >= 0x400)
    return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000)); // rebias 15 -> 127
  float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(subnormal) | sign);
}

uint16_t toF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) // 65520 and above round to infinity
    return sign | 0x7c00;
  if (magnitude < 0x38800000) { // below 2^-14: adding 0.5 makes the FPU round at the last subnormal bit
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

float identity(float value) { return value; }
float narrow(double value) { return static_cast<float>(value); }

template <typename From, typename To, auto load, auto store>
void convert(const std::byte *from, std::byte *to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    From in;
    std::memcpy(&in, from + i * sizeof in, sizeof in);
    To out = store(load(in));
    std::memcpy(to + i * sizeof out, &out, sizeof out);
  }
}

template <size_t elementBytes> void copy(const std::byte *from, std::byte *to, size_t count) {
  std::memcpy(to, from, count * elementBytes);
}

#ifdef __x86_64__
__attribute__((target("avx,f16c"))) void f32ToF16Hardware(const std::byte *from, std::byte *to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 in = _mm256_loadu_ps(reinterpret_cast<const float *>(from + 4 * i));
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to + 2 * i), _mm256_cvtps_ph(in, _MM_FROUND_TO_NEAREST_INT));
  }
  convert<float, uint16_t, identity, toF16>(from + 4 * i, to + 2 * i, count - i);
}

__attribute__((target("avx,f16c"))) void f16ToF32Hardware(const std::byte *from, std::byte *to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m128i in = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + 2 * i));
    _mm256_storeu_ps(reinterpret_cast<float *>(to + 4 * i), _mm256_cvtph_ps(in));
  }
  convert<uint16_t, float, fromF16, identity>(from + 2 * i, to + 4 * i, count - i);
}

bool hasF16c() { return __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx"); }
#endif

ConvertFn copyOf(size_t elementBytes) {
  switch (elementBytes) {
  case 1:
    return copy<1>;
  case 2:
    return copy<2>;
  case 4:
    return copy<4>;
  default:
    return copy<8>;
  }
}

} // namespace

ConvertFn findConvert(DType from, DType to) {
  if (from == to)
    return copyOf(sizeOf(from));
#ifdef __x86_64__
  if (hasF16c() && from == DType::F32 && to == DType::F16)
    return f32ToF16Hardware;
  if (hasF16c() && from == DType::F16 && to == DType::F32)
    return f16ToF32Hardware;
#endif
  struct Row {
    DType from, to;
    ConvertFn fn;
  };
  static constexpr Row rows[] = {
      {DType::F32, DType::F16, convert<float, uint16_t, identity, toF16>},
      {DType::F32, DType::BF16, convert<float, uint16_t, identity, toBf16>},
      {DType::F16, DType::F32, convert<uint16_t, float, fromF16, identity>},
      {DType::F16, DType::BF16, convert<uint16_t, uint16_t, fromF16, toBf16>},
      {DType::BF16, DType::F32, convert<uint16_t, float, fromBf16, identity>},
      {DType::BF16, DType::F16, convert<uint16_t, uint16_t, fromBf16, toF16>},
      {DType::F64, DType::F32, convert<double, float, narrow, identity>},
  };
  for (const Row &row : rows)
    if (row.from == from && row.to == to)
      return row.fn;
  return nullptr;
}

} // namespace gaudi::pack
