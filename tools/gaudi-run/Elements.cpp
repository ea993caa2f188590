//===- Elements.cpp - single elements of any type -------------------------===//
#include "tools/gaudi-run/Elements.h"

#include <bit>
#include <cmath>
#include <limits>

namespace gaudi::run {

bool isFloat(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F64;
}

bool isSigned(DType dtype) { return isFloat(dtype) || (dtype >= DType::I8 && dtype <= DType::I64); }

float halfToFloat(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  float magnitude = std::ldexp(static_cast<float>(mantissa), -24); // subnormal
  return sign ? -magnitude : magnitude;
}

uint16_t floatToHalf(float value) {
  auto sign = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16 & 0x8000);
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  if (magnitude >= 65520) // halfway to the next exponent rounds to infinity
    return sign | 0x7c00;
  if (magnitude < 0x1p-14f)
    return sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24f)); // may round up to the least normal
  uint32_t bits = std::bit_cast<uint32_t>(magnitude) - (112u << 23);
  bits += 0xfff + (bits >> 13 & 1); // to nearest even
  return sign | static_cast<uint16_t>(bits >> 13);
}

uint16_t floatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Calls `f` with a pointer of the type's C++ type; 16-bit floats and bool are not its business.
template <typename F> static auto withInteger(DType dtype, F f) {
  switch (dtype) {
  case DType::I8:
    return f(int8_t());
  case DType::I16:
    return f(int16_t());
  case DType::I32:
    return f(int32_t());
  case DType::I64:
    return f(int64_t());
  case DType::U16:
    return f(uint16_t());
  case DType::U32:
    return f(uint32_t());
  case DType::U64:
    return f(uint64_t());
  default:
    return f(uint8_t()); // u8, bool
  }
}

int64_t loadInteger(DType dtype, const void *data, size_t i) {
  return withInteger(dtype,
                     [&](auto tag) { return static_cast<int64_t>(static_cast<const decltype(tag) *>(data)[i]); });
}

void storeInteger(DType dtype, void *data, size_t i, int64_t value) {
  withInteger(dtype, [&](auto tag) { static_cast<decltype(tag) *>(data)[i] = static_cast<decltype(tag)>(value); });
}

int64_t lowestOf(DType dtype) {
  return dtype == DType::Bool ? 0 : withInteger(dtype, [](auto tag) {
    return static_cast<int64_t>(std::numeric_limits<decltype(tag)>::min());
  });
}

int64_t highestOf(DType dtype) {
  if (dtype == DType::Bool)
    return 1;
  return withInteger(dtype, [](auto tag) {
    constexpr auto most = std::numeric_limits<decltype(tag)>::max();
    return most > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(most);
  });
}

double loadElement(DType dtype, const void *data, size_t i) {
  switch (dtype) {
  case DType::F32:
    return static_cast<const float *>(data)[i];
  case DType::F64:
    return static_cast<const double *>(data)[i];
  case DType::F16:
    return halfToFloat(static_cast<const uint16_t *>(data)[i]);
  case DType::BF16:
    return std::bit_cast<float>(static_cast<uint32_t>(static_cast<const uint16_t *>(data)[i]) << 16);
  case DType::U64:
    return static_cast<double>(static_cast<const uint64_t *>(data)[i]);
  default:
    return static_cast<double>(loadInteger(dtype, data, i));
  }
}

void storeElement(DType dtype, void *data, size_t i, double value) {
  switch (dtype) {
  case DType::F32:
    static_cast<float *>(data)[i] = static_cast<float>(value);
    return;
  case DType::F64:
    static_cast<double *>(data)[i] = value;
    return;
  case DType::F16:
    static_cast<uint16_t *>(data)[i] = floatToHalf(static_cast<float>(value));
    return;
  case DType::BF16:
    static_cast<uint16_t *>(data)[i] = floatToBfloat(static_cast<float>(value));
    return;
  default:
    storeInteger(dtype, data, i, static_cast<int64_t>(value));
  }
}

} // namespace gaudi::run
