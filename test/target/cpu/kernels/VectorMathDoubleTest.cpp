//===- VectorMathDoubleTest.cpp - the f64 functions ------------------------===//
//
// Random bit patterns (every exponent is equally likely), ordinary magnitudes, and the neighbours of special points,
// through the pointwise kernel, against x87 long double (64 bits) libm. The bounds are those that VectorMath.h states.
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

constexpr int64_t kBatch = 1 << 14;

void addNeighbours(std::vector<double> &list, double centre) {
  for (int d = -20; d <= 20; ++d)
    for (double sign : {1.0, -1.0})
      list.push_back(sign * std::bit_cast<double>(std::bit_cast<uint64_t>(centre) + d));
}

class VectorMathDoubleTest : public KernelTest {
protected:
  void SetUp() override {
    for (double c : {0x1p-1000,
                     0x1p-1022,
                     0.5,
                     1.,
                     2.,
                     0x1.6a09e667f3bcdp-1,
                     0.34657359027997264,
                     6.,
                     22.,
                     39.,
                     709.782712893384,
                     745.1332191019412,
                     708.3964185322641,
                     M_PI,
                     M_PI_2,
                     3 * M_PI,
                     0x1p20,
                     0x1p52,
                     0x1p53,
                     0x1p64,
                     6381956970095103 * 0x1p797,
                     1.7976931348623157e308})
      addNeighbours(points, c);
    for (double c : {0., double(INFINITY), 0x1p-1074})
      points.insert(points.end(), {c, -c});
    points.push_back(NAN);
    std::uniform_real_distribution<double> ordinary(-50, 50), unit(-2, 2);
    while (points.size() % kBatch || points.size() < 4 * kBatch) {
      points.push_back(std::bit_cast<double>(random64()));
      points.push_back(ordinary(random));
      points.push_back(unit(random));
    }
    points.resize(points.size() / kBatch * kBatch);
  }

  uint64_t random64() { return uint64_t(random()) << 32 | uint32_t(random()); }

  std::vector<double> run(const Isa &isa, llvm::ArrayRef<std::vector<double>> arguments, GroupModule::Body body) {
    return runPointwise<double>(isa, arguments, kBatch, body);
  }

  static double ulpOf(long double reference) {
    double d = static_cast<double>(std::abs(reference));
    return d < 0x1p-1022 ? 0x1p-1074 : std::ldexp(1.0, std::ilogb(d) - 52);
  }

  /// The largest error in ulp of all results of at least `tiny`, and one wrong NaN or infinity.
  struct Error {
    double ulp = 0, at = 0, wrongAt = 0;
    int wrong = 0;
    void add(double x, double actual, long double expected, double tiny) {
      double rounded = static_cast<double>(expected);
      if (std::isnan(rounded) || std::isinf(rounded) || !std::isfinite(actual)) {
        bool nearOverflow = std::abs(expected) > 1.7976931348623150e308L && std::abs(actual) > 1.7976931348623150e308;
        if (std::isnan(rounded) ? !std::isnan(actual) : rounded != actual && !nearOverflow)
          if (wrong++ == 0)
            wrongAt = x;
        return;
      }
      double error = static_cast<double>(std::abs(actual - expected) / ulpOf(expected));
      if (error > ulp && std::abs(rounded) >= tiny)
        ulp = error, at = x;
    }
  };

  void unaryError(UnaryKind kind, long double (*reference)(long double), double most, double tiny = 0) {
    for (const Isa &isa : testedIsas()) {
      std::vector<double> y =
          run(isa, {points}, [&](OpBuilder &b, Location loc, ValueRange a) { return unary(b, loc, kind, a[0]); });
      Error e;
      for (size_t i = 0; i < points.size(); ++i)
        e.add(points[i], y[i], reference(points[i]), tiny);
      std::string name = graph::stringifyUnaryKind(kind).str();
      std::printf("  %-10s %-7s %8.3f ulp at %.17g\n", name.c_str(), isa.name.c_str(), e.ulp, e.at);
      EXPECT_LE(e.ulp, most) << name << " at " << e.at;
      EXPECT_EQ(e.wrong, 0) << name << " at " << e.wrongAt;
    }
  }

  std::vector<double> points;
};

using Long = long double;
Long sigmoid(Long x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
Long silu(Long x) { return x == -INFINITY ? 0 : x * sigmoid(x); }
Long gelu(Long x) { return x == -INFINITY ? 0 : x / 2 * std::erfc(-x / std::sqrt(2.0L)); }
Long geluTanh(Long x) {
  Long u = std::sqrt(2 / 3.14159265358979323846264L) * (x + 0.044715L * x * x * x);
  return x == -INFINITY ? 0 : x * sigmoid(2 * u);
}
Long softplus(Long x) { return std::isnan(x) ? x : std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x))); }

TEST_F(VectorMathDoubleTest, Exp) {
  unaryError(UnaryKind::exp, [](Long x) { return std::exp(x); }, 1.1);
}
TEST_F(VectorMathDoubleTest, Log) {
  unaryError(UnaryKind::log, [](Long x) { return std::log(x); }, 1.1);
}
TEST_F(VectorMathDoubleTest, Sin) {
  unaryError(UnaryKind::sin, [](Long x) { return std::sin(x); }, 2.5);
}
TEST_F(VectorMathDoubleTest, Cos) {
  unaryError(UnaryKind::cos, [](Long x) { return std::cos(x); }, 2.5);
}
TEST_F(VectorMathDoubleTest, Tanh) {
  unaryError(UnaryKind::tanh, [](Long x) { return std::tanh(x); }, 3);
}
TEST_F(VectorMathDoubleTest, Erf) {
  unaryError(UnaryKind::erf, [](Long x) { return std::erf(x); }, 3);
}
TEST_F(VectorMathDoubleTest, Sigmoid) { unaryError(UnaryKind::sigmoid, sigmoid, 2.5); }
TEST_F(VectorMathDoubleTest, Silu) { unaryError(UnaryKind::silu, silu, 3.5, 1e-300); }
TEST_F(VectorMathDoubleTest, Softplus) { unaryError(UnaryKind::softplus, softplus, 3); }
TEST_F(VectorMathDoubleTest, Gelu) { unaryError(UnaryKind::gelu, gelu, 10, 1e-300); }
TEST_F(VectorMathDoubleTest, GeluTanh) { unaryError(UnaryKind::gelu_tanh, geluTanh, 3000, 1e-300); }

TEST_F(VectorMathDoubleTest, PowAndFmod) {
  std::vector<double> specials = {0.,     -0.,    1.,  -1.,  0.5,      -0.5,      2.,         -2.,
                                  3.,     -3.,    1.5, 100., -101.,    0x1p-1074, -0x1p-1060, 1e308,
                                  -1e308, 0x1p53, 0.1, 7.25, INFINITY, -INFINITY, NAN};
  std::vector<double> x, y;
  for (double a : specials)
    for (double b : specials)
      x.push_back(a), y.push_back(b);
  std::uniform_real_distribution<double> wide(-700, 700), narrow(-8, 8);
  while (x.size() % kBatch || x.size() < 4 * kBatch) {
    x.push_back(x.size() % 5 ? std::exp(wide(random)) * (random() & 1 ? -1 : 1) : std::bit_cast<double>(random64()));
    y.push_back(x.size() % 3   ? narrow(random)
                : random() & 1 ? std::trunc(narrow(random))
                               : std::bit_cast<double>(random64()));
  }
  struct Case {
    BinaryKind kind;
    Long (*reference)(Long, Long);
    double most;
  };
  static const Case cases[] = {{BinaryKind::pow, [](Long a, Long b) { return std::pow(a, b); }, 3},
                               {BinaryKind::fmod, [](Long a, Long b) { return std::fmod(a, b); }, 0}};
  for (const Case &c : cases)
    for (const Isa &isa : testedIsas()) {
      std::vector<double> z = run(
          isa, {x, y}, [&](OpBuilder &b, Location loc, ValueRange a) { return binary(b, loc, c.kind, a[0], a[1]); });
      Error e;
      for (size_t i = 0; i < x.size(); ++i)
        e.add(x[i], z[i], c.reference(x[i], y[i]), 0);
      std::string name = graph::stringifyBinaryKind(c.kind).str();
      std::printf("  %-10s %8.3f ulp at %.17g\n", name.c_str(), e.ulp, e.at);
      EXPECT_LE(e.ulp, c.most) << name << " at " << e.at;
      EXPECT_EQ(e.wrong, 0) << name << " at " << e.wrongAt;
    }
}

/// What f64 can hold comes out exactly: i32^f32 truncates the result.
TEST_F(VectorMathDoubleTest, ExactPowers) {
  std::vector<double> x, y, expected;
  for (int base = 2; base < 30000; base += base < 1000 ? 1 : 17) {
    double power = 1;
    for (int n = 0; power <= 0x1p53; ++n, power *= base) {
      x.push_back(base), y.push_back(n), expected.push_back(power);
      x.push_back(power), y.push_back(n ? 1.0 / n : 1), expected.push_back(n && !(n & (n - 1)) ? base : NAN);
    }
  }
  x.resize((x.size() + kBatch - 1) / kBatch * kBatch, 1);
  y.resize(x.size(), 1);
  for (const Isa &isa : testedIsas()) {
    std::vector<double> z = run(isa, {x, y}, [&](OpBuilder &b, Location loc, ValueRange a) {
      return binary(b, loc, BinaryKind::pow, a[0], a[1]);
    });
    int wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      if (!std::isnan(expected[i]) && z[i] != expected[i] && wrong++ == 0)
        ADD_FAILURE() << x[i] << "^" << y[i] << " = " << z[i] - expected[i] << " + " << expected[i];
    EXPECT_EQ(wrong, 0) << "of " << expected.size() << " " << isa.name;
  }
}

} // namespace
