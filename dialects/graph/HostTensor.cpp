//===- HostTensor.cpp - concrete tensor values of the evaluator -----------===//
#include "dialects/graph/HostTensor.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

//===----------------------------------------------------------------------===//
// 16-bit floats. Bit tricks, not APFloat: 100 MB of weights are 5*10^7 elements, APFloat takes 30 ns for each.
//===----------------------------------------------------------------------===//

namespace {

struct SmallFloat {
  int mantissaBits;
  double smallestNormal;
  double magic;    // 1.5 * 2^52 quanta of the subnormals: adding it leaves no bits below one quantum
  double overflow; // first power of two that is too large
};
constexpr SmallFloat kHalf{10, 0x1p-14, 0x1.8p28, 0x1p16}, kBFloat{7, 0x1p-126, 0x1.8p-81, 0x1p128};

/// Rounds to nearest even once, straight from double: going through float would round twice.
double roundTo(double x, const SmallFloat &format) {
  double magnitude = std::fabs(x);
  if (!(magnitude <= std::numeric_limits<double>::max()))
    return x;                            // NaN, infinity
  if (magnitude < format.smallestNormal) // fixed point
    return std::copysign((x + format.magic) - format.magic, x);
  int shift = 52 - format.mantissaBits;
  uint64_t bits = llvm::bit_cast<uint64_t>(x), lastKept = bits >> shift & 1;
  bits += (uint64_t(1) << (shift - 1)) - 1 + lastKept; // a carry into the exponent is right
  bits &= ~uint64_t(0) << shift;
  double rounded = llvm::bit_cast<double>(bits);
  return std::fabs(rounded) >= format.overflow ? std::copysign(std::numeric_limits<double>::infinity(), x) : rounded;
}

constexpr uint64_t kHalfBias = uint64_t(1023 - 15) << 52; // difference of the exponent biases

double halfToDouble(uint16_t h) {
  uint64_t magnitude = h & 0x7fff;
  double x = magnitude > 0x7c00    ? std::numeric_limits<double>::quiet_NaN()
             : magnitude == 0x7c00 ? std::numeric_limits<double>::infinity()
             : magnitude < 0x400   ? static_cast<double>(magnitude) * 0x1p-24
                                   : llvm::bit_cast<double>((magnitude << 42) + kHalfBias);
  return h & 0x8000 ? -x : x;
}

/// `x` is representable.
uint16_t doubleToHalf(double x) {
  uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  double magnitude = std::fabs(x);
  if (std::isnan(x))
    return sign | 0x7e00;
  if (std::isinf(x))
    return sign | 0x7c00;
  if (magnitude < 0x1p-14)
    return sign | static_cast<uint16_t>(magnitude * 0x1p24);
  return sign | static_cast<uint16_t>((llvm::bit_cast<uint64_t>(magnitude) - kHalfBias) >> 42);
}

double bfloatToDouble(uint16_t b) { return llvm::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

/// `x` is representable.
uint16_t doubleToBFloat(double x) {
  if (std::isnan(x))
    return std::signbit(x) ? 0xffc0 : 0x7fc0; // dropping low bits must not turn it into an infinity
  return static_cast<uint16_t>(llvm::bit_cast<uint32_t>(static_cast<float>(x)) >> 16);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

template <typename T, typename Out, typename Fn> void readAs(ArrayRef<char> bytes, std::vector<Out> &out, Fn convert) {
  for (size_t i = 0; i < out.size(); ++i) {
    T v;
    std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = convert(v);
  }
}

template <typename T, typename In, typename Fn>
void writeAs(const std::vector<In> &in, std::vector<char> &bytes, Fn convert) {
  for (size_t i = 0; i < in.size(); ++i) {
    T v = convert(in[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &v, sizeof(T));
  }
}

void readInts(Type type, ArrayRef<char> bytes, std::vector<int64_t> &out) {
  bool isUnsigned = type.isUnsignedInteger();
  auto widen = [](auto v) { return static_cast<int64_t>(v); };
  switch (type.getIntOrFloatBitWidth()) {
  case 1: return readAs<uint8_t>(bytes, out, [](uint8_t v) { return int64_t(v != 0); });
  case 8: return isUnsigned ? readAs<uint8_t>(bytes, out, widen) : readAs<int8_t>(bytes, out, widen);
  case 16: return isUnsigned ? readAs<uint16_t>(bytes, out, widen) : readAs<int16_t>(bytes, out, widen);
  case 32: return isUnsigned ? readAs<uint32_t>(bytes, out, widen) : readAs<int32_t>(bytes, out, widen);
  default: return readAs<int64_t>(bytes, out, widen);
  }
}

void readFloats(Type type, ArrayRef<char> bytes, std::vector<double> &out) {
  if (type.isF16())
    return readAs<uint16_t>(bytes, out, halfToDouble);
  if (type.isBF16())
    return readAs<uint16_t>(bytes, out, bfloatToDouble);
  if (type.isF32())
    return readAs<float>(bytes, out, [](float v) { return double(v); });
  return readAs<double>(bytes, out, [](double v) { return v; });
}

/// Storage of one element; bool takes a byte.
size_t widthOf(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

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
  size_t width = widthOf(elementType);
  std::vector<char> bytes(elementCount() * width);
  if (elementType.isF16())
    writeAs<uint16_t>(floats(), bytes, [](double x) { return doubleToHalf(roundTo(x, kHalf)); });
  else if (elementType.isBF16())
    writeAs<uint16_t>(floats(), bytes, [](double x) { return doubleToBFloat(roundTo(x, kBFloat)); });
  else if (elementType.isF32())
    writeAs<float>(floats(), bytes, [](double x) { return static_cast<float>(x); });
  else if (isFloat())
    writeAs<double>(floats(), bytes, [](double x) { return x; });
  else
    for (size_t i = 0; i < ints().size(); ++i)
      std::memcpy(bytes.data() + i * width, &ints()[i], width); // little-endian: the low bytes
  return bytes;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

HostTensor HostTensor::zeros(RankedTensorType type) {
  HostTensor t;
  t.shape.assign(type.getShape().begin(), type.getShape().end());
  t.elementType = type.getElementType();
  if (isa<FloatType>(t.elementType))
    t.data = std::vector<double>(t.elementCount());
  else
    t.data = std::vector<int64_t>(t.elementCount());
  return t;
}

HostTensor HostTensor::fromElements(ElementsAttr attr) {
  auto dense = cast<DenseElementsAttr>(attr);
  auto type = cast<RankedTensorType>(dense.getType());
  Type element = type.getElementType();
  if (dense.isSplat() && type.getNumElements() != 1) {
    HostTensor t = zeros(type), one = fromElements(dense.resizeSplat(RankedTensorType::get({}, element)));
    if (t.isFloat())
      llvm::fill(t.floats(), one.floats()[0]);
    else
      llvm::fill(t.ints(), one.ints()[0]);
    return t;
  }
  if (!element.isInteger(1))
    return fromBytes(type, dense.getRawData());
  HostTensor t = zeros(type); // MLIR packs bools into bits
  for (auto [i, bit] : llvm::enumerate(dense.getValues<bool>()))
    t.ints()[i] = bit;
  return t;
}

DenseElementsAttr HostTensor::toElements() const {
  RankedTensorType tensor = type();
  if (elementType.isInteger(1)) { // bits again
    if (!ints().empty() && llvm::all_equal(ints()))
      return DenseElementsAttr::get(tensor, ints()[0] != 0);
    llvm::SmallVector<bool> bits(ints().begin(), ints().end());
    return DenseElementsAttr::get(tensor, ArrayRef<bool>(bits));
  }
  std::vector<char> bytes = toBytes();
  size_t width = widthOf(elementType);
  // A buffer equals itself shifted by one element exactly if all elements are equal.
  bool splat = bytes.size() > width && std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
  return DenseElementsAttr::getFromRawBuffer(tensor, splat ? ArrayRef(bytes).take_front(width) : ArrayRef(bytes));
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

int64_t HostTensor::elementCount() const {
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  return n;
}

RankedTensorType HostTensor::type() const { return RankedTensorType::get(shape, elementType); }

static int64_t wrapInt(int64_t x, unsigned width, bool isUnsigned) {
  auto low = static_cast<uint64_t>(x) << (64 - width);
  return isUnsigned ? static_cast<int64_t>(low >> (64 - width)) : static_cast<int64_t>(low) >> (64 - width);
}

void HostTensor::round() {
  auto each = [](auto &values, auto fn) {
    for (auto &x : values)
      x = fn(x);
  };
  if (elementType.isF32())
    return each(floats(), [](double x) { return double(static_cast<float>(x)); });
  if (elementType.isF16() || elementType.isBF16()) {
    const SmallFloat &format = elementType.isF16() ? kHalf : kBFloat;
    return each(floats(), [&](double x) { return roundTo(x, format); });
  }
  if (isFloat())
    return;
  unsigned width = elementType.getIntOrFloatBitWidth();
  bool isUnsigned = elementType.isUnsignedInteger() || width == 1;
  if (width < 64)
    each(ints(), [&](int64_t x) { return wrapInt(x, width, isUnsigned); });
}

int64_t graph::saturate(double x, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1)
    return x != 0;
  if (std::isnan(x))
    return 0;
  bool isUnsigned = type.isUnsignedInteger();
  double low = isUnsigned ? 0 : -std::ldexp(1.0, width - 1), end = std::ldexp(1.0, isUnsigned ? width : width - 1);
  if (x >= end)
    return static_cast<int64_t>(~uint64_t(0) >> (64 - width + !isUnsigned));
  if (x <= low)
    return static_cast<int64_t>(low);
  return isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(x)) : static_cast<int64_t>(x);
}
