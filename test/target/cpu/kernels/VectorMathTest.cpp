//===- VectorMathTest.cpp - the polynomials over the whole float range ----===//
//
// Every 251st bit pattern and all neighbours of the special points, through the pointwise kernel, against double libm.
// The bounds are those that VectorMath.h states.
//
//===----------------------------------------------------------------------===//
#include "test/target/cpu/kernels/KernelTest.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace gaudi::cpu;
using namespace gaudi::cpu::test;
using gaudi::graph::BinaryKind;
using gaudi::graph::UnaryKind;
namespace graph = gaudi::graph;

namespace {

constexpr int64_t kBatch = 1 << 16;

/// Bit patterns to try.
std::vector<uint32_t> patterns() {
  std::vector<uint32_t> list;
  for (uint64_t p = 0; p < (uint64_t(1) << 32); p += 251)
    list.push_back(static_cast<uint32_t>(p));
  std::vector<uint32_t> centres = {0, 0x00800000, 0x7f800000, 0x7fc00000, 0x7f7fffff};
  for (float f : {0.5f,       1.f,        2.f,       0.6f,       0.92773437f, 5.6f,        88.7228394f,
                  87.33654f,  103.97208f, 104.f,     89.f,       9.01f,       71476.0625f, 0.6666667f,
                  1.5707964f, 3.1415927f, 8388608.f, 16777216.f, 11.f,        18.f,        200.f})
    centres.push_back(std::bit_cast<uint32_t>(f));
  for (uint32_t c : centres)
    for (int d = -40; d <= 40; ++d)
      for (uint32_t sign : {0u, 0x80000000u})
        list.push_back((c + d) ^ sign);
  list.resize((list.size() + kBatch - 1) / kBatch * kBatch, 0x3f800000);
  return list;
}

double ulpOf(double reference) {
  float f = static_cast<float>(std::abs(reference));
  if (f >= std::numeric_limits<float>::max())
    return std::ldexp(1.0, 104);
  return f < std::numeric_limits<float>::min() ? std::ldexp(1.0, -149) : std::ldexp(1.0, std::ilogb(f) - 23);
}

struct Error {
  double ulp = 0, absolute = 0;
  float ulpAt = 0, absoluteAt = 0;
  int wrongSpecials = 0;
  float wrongAt = 0;
};

class VectorMathTest : public KernelTest {
protected:
  std::vector<float> run(const Isa &isa, llvm::ArrayRef<std::vector<float>> arguments, GroupModule::Body body) {
    return runPointwise<float>(isa, arguments, kBatch, body);
  }

  /// Results below `tiny` count absolutely only; `absolute` is relative to max(1, |expected|).
  static void accumulate(Error &e, float x, float actual, double expected, double tiny = 0) {
    float rounded = static_cast<float>(expected);
    bool special = std::isnan(expected) || std::isinf(rounded) || std::isnan(actual) || std::isinf(actual);
    if (special) {
      // One ulp around the overflow threshold may go either way.
      bool nearOverflow = std::isinf(rounded) != std::isinf(actual) && std::abs(expected) > 3.402823e38 &&
                          std::abs(expected) < 3.402824e38;
      bool same = std::isnan(expected) ? std::isnan(actual) : rounded == actual;
      if (!same && !nearOverflow && e.wrongSpecials++ == 0)
        e.wrongAt = x;
      return;
    }
    double difference = std::abs(double(actual) - expected), ulp = difference / ulpOf(expected);
    double scaled = difference / std::max(1.0, std::abs(expected));
    if (scaled > e.absolute)
      e.absolute = scaled, e.absoluteAt = x;
    if (ulp > e.ulp && std::abs(expected) >= tiny)
      e.ulp = ulp, e.ulpAt = x;
  }

  void unaryError(UnaryKind kind, double (*reference)(double), double mostUlp, double mostAbsolute = 1e-6,
                  double tiny = 0) {
    static const std::vector<uint32_t> bits = patterns();
    std::vector<float> x(bits.size());
    std::transform(bits.begin(), bits.end(), x.begin(), [](uint32_t b) { return std::bit_cast<float>(b); });
    for (const Isa &isa : testedIsas()) {
      std::vector<float> y =
          run(isa, {x}, [&](OpBuilder &b, Location loc, ValueRange a) { return unary(b, loc, kind, a[0]); });
      Error e;
      for (size_t i = 0; i < x.size(); ++i)
        accumulate(e, x[i], y[i], reference(x[i]), tiny);
      std::string name = graph::stringifyUnaryKind(kind).str();
      std::printf("  %-10s %-7s %7.3f ulp at %-14.8g %9.3g absolute at %-14.8g\n", name.c_str(), isa.name.c_str(),
                  e.ulp, e.ulpAt, e.absolute, e.absoluteAt);
      EXPECT_LE(e.ulp, mostUlp) << name << " at " << e.ulpAt;
      EXPECT_LE(e.absolute, mostAbsolute) << name << " at " << e.absoluteAt;
      EXPECT_EQ(e.wrongSpecials, 0) << name << " at " << e.wrongAt;
    }
  }
};

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double silu(double x) { return x == -INFINITY ? 0 : x * sigmoid(x); }
double gelu(double x) { return x == -INFINITY ? 0 : 0.5 * x * std::erfc(-x / std::sqrt(2)); }
double geluTanh(double x) {
  double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return x == -INFINITY ? 0 : x * sigmoid(2 * u);
}
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))) + (std::isnan(x) ? x : 0); }
double rsqrt(double x) { return 1 / std::sqrt(x); }
double reciprocal(double x) { return 1 / x; }
double sign(double x) { return std::isnan(x) ? x : (x > 0) - (x < 0); }
double relu(double x) { return x < 0 ? 0 : x; }
double round(double x) { return std::nearbyint(x); }

TEST_F(VectorMathTest, Exp) { unaryError(UnaryKind::exp, std::exp, 1.01); }
TEST_F(VectorMathTest, Log) { unaryError(UnaryKind::log, std::log, 0.9); }
TEST_F(VectorMathTest, Tanh) { unaryError(UnaryKind::tanh, std::tanh, 1.6); }
TEST_F(VectorMathTest, Erf) { unaryError(UnaryKind::erf, std::erf, 1.3); }
TEST_F(VectorMathTest, Sigmoid) { unaryError(UnaryKind::sigmoid, sigmoid, 2.5); }
TEST_F(VectorMathTest, Silu) { unaryError(UnaryKind::silu, silu, 3.2, 1e-6, 1e-35); }
TEST_F(VectorMathTest, Softplus) { unaryError(UnaryKind::softplus, softplus, 2.1); }
TEST_F(VectorMathTest, Gelu) { unaryError(UnaryKind::gelu, gelu, HUGE_VAL, 1.1e-6); }
/// A factor of 1/2 + 1 ulp made it infinite.
TEST_F(VectorMathTest, GeluOfLargest) {
  std::vector<float> x(kBatch, std::numeric_limits<float>::max());
  for (const Isa &isa : testedIsas())
    for (UnaryKind kind : {UnaryKind::gelu, UnaryKind::gelu_tanh, UnaryKind::silu, UnaryKind::softplus})
      EXPECT_EQ(run(isa, {x}, [&](OpBuilder &b, Location loc, ValueRange a) { return unary(b, loc, kind, a[0]); }), x)
          << graph::stringifyUnaryKind(kind).str() << " " << isa.name;
}
TEST_F(VectorMathTest, GeluTanh) { unaryError(UnaryKind::gelu_tanh, geluTanh, HUGE_VAL, 2e-7); }
TEST_F(VectorMathTest, Sin) { unaryError(UnaryKind::sin, std::sin, 1.6); }
TEST_F(VectorMathTest, Cos) { unaryError(UnaryKind::cos, std::cos, 1.6); }
TEST_F(VectorMathTest, RoundedOnce) {
  unaryError(UnaryKind::sqrt, std::sqrt, 0.501);
  unaryError(UnaryKind::reciprocal, reciprocal, 0.501);
  unaryError(UnaryKind::rsqrt, rsqrt, 1.5);
}
TEST_F(VectorMathTest, Exact) {
  unaryError(UnaryKind::floor, std::floor, 0);
  unaryError(UnaryKind::ceil, std::ceil, 0);
  unaryError(UnaryKind::round, round, 0);
  unaryError(UnaryKind::sign, sign, 0);
  unaryError(UnaryKind::relu, relu, 0);
}

TEST_F(VectorMathTest, BinaryKinds) {
  std::vector<float> specials = {0.f,    -0.f,       1.f,  -1.f,  0.5f,     -0.5f,     2.f,     -2.f,
                                 3.f,    -3.f,       1.5f, 100.f, -101.f,   1e-40f,    -1e-40f, 3e38f,
                                 -3e38f, 16777216.f, 0.1f, 7.25f, INFINITY, -INFINITY, NAN};
  std::vector<float> x, y;
  for (float a : specials)
    for (float b : specials)
      x.push_back(a), y.push_back(b);
  std::uniform_real_distribution<float> wide(-88, 88), narrow(-8, 8);
  while (x.size() % kBatch || x.size() < 8 * kBatch) {
    x.push_back(std::exp(wide(random)) * (random() & 1 ? -1 : 1));
    y.push_back(x.size() % 3 ? narrow(random) : std::trunc(narrow(random)));
  }
  struct Case {
    BinaryKind kind;
    double (*reference)(double, double);
    double mostUlp;
  };
  static const Case cases[] = {
      {BinaryKind::pow, [](double a, double b) { return std::pow(a, b); }, 0.6},
      {BinaryKind::fmod, [](double a, double b) { return std::fmod(a, b); }, 0},
      {BinaryKind::min, [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }, 0},
      {BinaryKind::max, [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }, 0}};
  for (const Case &c : cases)
    for (const Isa &isa : testedIsas()) {
      std::vector<float> z = run(
          isa, {x, y}, [&](OpBuilder &b, Location loc, ValueRange a) { return binary(b, loc, c.kind, a[0], a[1]); });
      Error e;
      for (size_t i = 0; i < x.size(); ++i)
        accumulate(e, x[i], z[i], c.reference(x[i], y[i]));
      std::string name = graph::stringifyBinaryKind(c.kind).str();
      std::printf("  %-10s %-7s %7.3f ulp at %g\n", name.c_str(), isa.name.c_str(), e.ulp, e.ulpAt);
      EXPECT_LE(e.ulp, c.mostUlp) << name << " at " << e.ulpAt;
      EXPECT_EQ(e.wrongSpecials, 0) << name << " at " << e.wrongAt;
    }
}

/// All 2^16 values both ways, and the midpoints between neighbours (ties to even), infinities and NaNs.
TEST_F(VectorMathTest, SixteenBitConversions) {
  for (Type element : {f16(), bf16()}) {
    auto fill = [&](graph::HostTensor &t) {
      std::vector<char> bytes(2 << 16);
      for (int i = 0; i < 1 << 16; ++i)
        reinterpret_cast<uint16_t *>(bytes.data())[i] = static_cast<uint16_t>(i);
      auto all = graph::HostTensor::fromBytes(type({1 << 16}, element), bytes);
      for (int i = 0; i < 1 << 16; ++i)
        t.floats()[i] = all.floats()[i];
      for (int i = 0; i + 1 < 1 << 16; ++i)
        t.floats()[(1 << 16) + i] = (all.floats()[i] + all.floats()[i + 1]) / 2;
    };
    check(
        "pointwise", {{type({2 << 16}), false, fill}},
        [&](OpBuilder &b, Location loc, ValueRange a) -> Value { return graph::CastOp::create(b, loc, a[0], element); },
        {0, 0});
    check("pointwise", {{type({2 << 16}, element), false, fill}},
          [&](OpBuilder &b, Location loc, ValueRange a) -> Value { return graph::CastOp::create(b, loc, a[0], f32()); },
          {0, 0});
  }
}

} // namespace
