//===- Elements.h - single elements of any type -----------------*- C++ -*-===//
#pragma once

#include "gaudi/Tensor.h"

#include <cstddef>
#include <cstdint>

namespace gaudi::run {

bool isFloat(DType dtype);
bool isSigned(DType dtype);

/// Element `i` as double; exact for all but 64-bit integers over 2^53.
double loadElement(DType dtype, const void *data, size_t i);
/// Rounds to the type (floats to nearest even); integers must be in range.
void storeElement(DType dtype, void *data, size_t i, double value);
/// Integer types and bool, exact.
int64_t loadInteger(DType dtype, const void *data, size_t i);
void storeInteger(DType dtype, void *data, size_t i, int64_t value);
/// Smallest and largest value that storeInteger can take (u64 is cut at 2^63 - 1).
int64_t lowestOf(DType dtype);
int64_t highestOf(DType dtype);

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
uint16_t floatToBfloat(float value);

} // namespace gaudi::run
