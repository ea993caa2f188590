// Conversions and rounding of HostTensor against llvm::APFloat, exhaustively for 16-bit types.
#include "dialects/graph/HostTensor.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using gaudi::graph::HostTensor;

namespace {

class HostTensorTest : public testing::Test {
protected:
  MLIRContext context;
  Builder b{&context};

  RankedTensorType tensor(ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); }

  HostTensor floats(Type element, std::vector<double> values) {
    HostTensor t = HostTensor::zeros(tensor({static_cast<int64_t>(values.size())}, element));
    t.floats() = std::move(values);
    return t;
  }
};

double apFloatRound(double x, const llvm::fltSemantics &semantics) {
  llvm::APFloat v(x);
  bool loses;
  v.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
  v.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return v.convertToDouble();
}

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

TEST_F(HostTensorTest, EveryHalfSurvivesBytes) {
  for (FloatType type : {FloatType(b.getF16Type()), FloatType(b.getBF16Type())}) {
    std::vector<char> bytes(2 * 65536);
    for (int i = 0; i < 65536; ++i)
      bytes[2 * i] = static_cast<char>(i), bytes[2 * i + 1] = static_cast<char>(i >> 8);
    HostTensor t = HostTensor::fromBytes(tensor({65536}, type), bytes);
    std::vector<char> back = t.toBytes();
    for (int i = 0; i < 65536; ++i) {
      llvm::APFloat v(type.getFloatSemantics(), llvm::APInt(16, i));
      bool loses;
      v.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
      ASSERT_TRUE(same(t.floats()[i], v.convertToDouble())) << i;
      bool isNan = std::isnan(t.floats()[i]); // payloads may change, NaN-ness and sign may not
      ASSERT_TRUE(isNan || (back[2 * i] == bytes[2 * i] && back[2 * i + 1] == bytes[2 * i + 1])) << i;
    }
  }
}

// Values around every representable one: exact, ties, a hair beside the ties.
TEST_F(HostTensorTest, RoundingAgreesWithApFloat) {
  for (FloatType type : {FloatType(b.getF16Type()), FloatType(b.getBF16Type()), FloatType(b.getF32Type())}) {
    std::mt19937_64 random(7);
    std::vector<double> values{0.0, -0.0, INFINITY, -INFINITY, NAN, 65504, 65519.99, 65520, 3.4e38, 1e300, 5e-324};
    for (int i = 0; i < 200000; ++i) {
      uint64_t bits = random();
      int exponent = static_cast<int>(bits % 320) - 160;                      // beyond both ends of fp32
      uint64_t mantissa = random() & ~((uint64_t(1) << bits / 320 % 53) - 1); // many trailing zeros: ties are likely
      values.push_back(std::ldexp(1 + std::ldexp(static_cast<double>(mantissa >> 12), -52), exponent));
    }
    HostTensor t = floats(type, values);
    t.round();
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_TRUE(same(t.floats()[i], apFloatRound(values[i], type.getFloatSemantics()))) << values[i];
  }
}

TEST_F(HostTensorTest, IntegersWrap) {
  HostTensor t = HostTensor::zeros(tensor({4}, b.getIntegerType(8)));
  t.ints() = {127, 128, -129, 256};
  t.round();
  EXPECT_EQ(t.ints(), (std::vector<int64_t>{127, -128, 127, 0}));
  t.elementType = b.getIntegerType(8, false);
  t.ints() = {255, 256, -1, 5};
  t.round();
  EXPECT_EQ(t.ints(), (std::vector<int64_t>{255, 0, 255, 5}));
}

TEST_F(HostTensorTest, AttributesRoundTrip) {
  for (Type element :
       {Type(b.getI1Type()), Type(b.getI64Type()), Type(b.getIntegerType(8, false)), Type(b.getIntegerType(16))}) {
    HostTensor t = HostTensor::zeros(tensor({3, 5}, element));
    for (int64_t i = 0; i < 15; ++i)
      t.ints()[i] = i % 2;
    HostTensor back = HostTensor::fromElements(t.toElements());
    EXPECT_EQ(back.ints(), t.ints());
    EXPECT_EQ(back.type(), t.type());
  }
  for (Type element : {Type(b.getF16Type()), Type(b.getBF16Type()), Type(b.getF32Type()), Type(b.getF64Type())})
    EXPECT_EQ(HostTensor::fromElements(floats(element, {1.5, -0.25, 8}).toElements()).floats(),
              (std::vector<double>{1.5, -0.25, 8}));
}

TEST_F(HostTensorTest, EqualElementsBecomeSplats) {
  EXPECT_TRUE(floats(b.getF32Type(), {2, 2, 2}).toElements().isSplat());
  EXPECT_FALSE(floats(b.getF32Type(), {0.0, -0.0}).toElements().isSplat());
  HostTensor flags = HostTensor::zeros(tensor({1000}, b.getI1Type()));
  EXPECT_TRUE(flags.toElements().isSplat());
  HostTensor empty = HostTensor::zeros(tensor({0, 3}, b.getF16Type()));
  EXPECT_EQ(empty.toElements().getNumElements(), 0);
  EXPECT_EQ(HostTensor::fromElements(empty.toElements()).shape, empty.shape);
}

TEST_F(HostTensorTest, Saturation) {
  using gaudi::graph::saturate;
  EXPECT_EQ(saturate(1e30, b.getI64Type()), INT64_MAX);
  EXPECT_EQ(saturate(-1e30, b.getI64Type()), INT64_MIN);
  EXPECT_EQ(saturate(0x1p63, b.getIntegerType(64, false)), INT64_MIN); // 2^63 as bits
  EXPECT_EQ(saturate(NAN, b.getI32Type()), 0);
  EXPECT_EQ(saturate(-0.9, b.getIntegerType(8, false)), 0);
  EXPECT_EQ(saturate(127.9, b.getIntegerType(8)), 127);
}

} // namespace
