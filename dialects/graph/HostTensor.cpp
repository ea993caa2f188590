//===- HostTensor.cpp - concrete tensor values of the evaluator -----------===//
#include "dialects/graph/HostTensor.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace gaudi::graph;

int64_t HostTensor::elementCount() const {
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  return n;
}

RankedTensorType HostTensor::type() const { return RankedTensorType::get(shape, elementType); }

HostTensor HostTensor::zeros(RankedTensorType type) {
  HostTensor t;
  t.shape.assign(type.getShape().begin(), type.getShape().end());
  t.elementType = type.getElementType();
  if (isa<FloatType>(t.elementType))
    t.data = std::vector<double>(type.getNumElements());
  else
    t.data = std::vector<int64_t>(type.getNumElements());
  return t;
}

namespace {

float halfToFloat(uint16_t h) {
  llvm::APFloat v(llvm::APFloat::IEEEhalf(), llvm::APInt(16, h));
  bool loses;
  v.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return v.convertToFloat();
}

/// Rounds once, straight from double: rounding through float first would round twice.
uint16_t roundTo16(double x, const llvm::fltSemantics &semantics) {
  llvm::APFloat v(x);
  bool loses;
  v.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
  return static_cast<uint16_t>(v.bitcastToAPInt().getZExtValue());
}

double bf16ToDouble(uint16_t b) { return llvm::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

template <typename T, typename Out> void readAs(ArrayRef<char> bytes, std::vector<Out> &out) {
  for (size_t i = 0; i < out.size(); ++i) {
    T v;
    std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<Out>(v);
  }
}

template <typename T, typename In> void writeAs(const std::vector<In> &in, std::vector<char> &bytes) {
  for (size_t i = 0; i < in.size(); ++i) {
    T v = static_cast<T>(in[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &v, sizeof(T));
  }
}

void readInts(Type type, ArrayRef<char> bytes, std::vector<int64_t> &out) {
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1: return readAs<uint8_t>(bytes, out);
  case 8: return isUnsigned ? readAs<uint8_t>(bytes, out) : readAs<int8_t>(bytes, out);
  case 16: return isUnsigned ? readAs<uint16_t>(bytes, out) : readAs<int16_t>(bytes, out);
  case 32: return isUnsigned ? readAs<uint32_t>(bytes, out) : readAs<int32_t>(bytes, out);
  default: return readAs<int64_t>(bytes, out);
  }
}

void readFloats(Type type, ArrayRef<char> bytes, std::vector<double> &out) {
  if (type.isF32())
    return readAs<float>(bytes, out);
  if (type.isF64())
    return readAs<double>(bytes, out);
  std::vector<int64_t> raw(out.size());
  readAs<uint16_t>(bytes, raw);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = type.isF16() ? halfToFloat(raw[i]) : bf16ToDouble(raw[i]);
}

} // namespace

HostTensor HostTensor::fromBytes(RankedTensorType type, ArrayRef<char> bytes) {
  HostTensor t = zeros(type);
  if (t.isFloat())
    readFloats(t.elementType, bytes, t.floats());
  else
    readInts(t.elementType, bytes, t.ints());
  return t;
}

std::vector<char> HostTensor::toBytes() const {
  unsigned width = (elementType.getIntOrFloatBitWidth() + 7) / 8;
  std::vector<char> bytes(elementCount() * width);
  if (elementType.isF32())
    writeAs<float>(floats(), bytes);
  else if (elementType.isF64())
    writeAs<double>(floats(), bytes);
  else if (isFloat()) {
    const llvm::fltSemantics &semantics = cast<FloatType>(elementType).getFloatSemantics();
    for (size_t i = 0; i < floats().size(); ++i) {
      uint16_t v = roundTo16(floats()[i], semantics);
      std::memcpy(bytes.data() + 2 * i, &v, 2);
    }
  } else
    for (size_t i = 0; i < ints().size(); ++i)
      std::memcpy(bytes.data() + i * width, &ints()[i], width); // little-endian: the low bytes
  return bytes;
}

HostTensor HostTensor::fromElements(ElementsAttr attr) {
  HostTensor t = zeros(cast<RankedTensorType>(attr.getType()));
  if (t.isFloat())
    for (auto [i, v] : llvm::enumerate(attr.getValues<APFloat>())) {
      bool loses;
      v.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
      t.floats()[i] = v.convertToDouble();
    }
  else {
    bool zeroExtend = t.elementType.isUnsignedInteger() || t.elementType.isInteger(1);
    for (auto [i, v] : llvm::enumerate(attr.getValues<APInt>()))
      t.ints()[i] = zeroExtend ? static_cast<int64_t>(v.getZExtValue()) : v.getSExtValue();
  }
  return t;
}

DenseElementsAttr HostTensor::toElements() const {
  RankedTensorType tensor = type();
  if (elementType.isInteger(1)) { // stored as bits, not bytes
    llvm::SmallVector<bool> bits(ints().begin(), ints().end());
    return DenseElementsAttr::get(tensor, ArrayRef<bool>(bits));
  }
  return DenseElementsAttr::getFromRawBuffer(tensor, toBytes());
}

namespace {

double roundFloat(double x, Type type) {
  if (type.isF64())
    return x;
  if (type.isF32())
    return static_cast<float>(x);
  uint16_t bits = roundTo16(x, cast<FloatType>(type).getFloatSemantics());
  return type.isF16() ? halfToFloat(bits) : bf16ToDouble(bits);
}

int64_t wrapInt(int64_t x, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1)
    return x != 0;
  if (width == 64)
    return x;
  int64_t low = x & ((int64_t(1) << width) - 1);
  bool negative = !type.isUnsignedInteger() && (low >> (width - 1)) & 1;
  return negative ? low - (int64_t(1) << width) : low;
}

} // namespace

void HostTensor::round() {
  if (isFloat())
    for (double &x : floats())
      x = roundFloat(x, elementType);
  else
    for (int64_t &x : ints())
      x = wrapInt(x, elementType);
}
