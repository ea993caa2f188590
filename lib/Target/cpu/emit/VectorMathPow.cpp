//===- VectorMathPow.cpp - x^y through f64 --------------------------------===//
#include "lib/Target/cpu/emit/VectorMathOps.h"

#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;

namespace gaudi::cpu {

using Pred = VecOps::Pred;

namespace {

/// The value of a constant splat or scalar, else nullopt.
std::optional<float> constantFloat(Value v) {
  // Look through the broadcast of a scalar constant.
  if (Operation *op = v.getDefiningOp();
      op && op->getNumOperands() == 1 && op->getName().getStringRef() == "vector.broadcast")
    v = op->getOperand(0);
  Attribute attr;
  if (!matchPattern(v, m_Constant(&attr)))
    return std::nullopt;
  if (auto splat = dyn_cast<SplatElementsAttr>(attr))
    return splat.getSplatValue<APFloat>().convertToFloat();
  if (auto scalar = dyn_cast<FloatAttr>(attr))
    return scalar.getValue().convertToFloat();
  return std::nullopt;
}

/// f64 arithmetic over the shape of a VecOps. 40 correct bits of y log2|x| are enough for half an ulp of f32.
class Wide {
public:
  explicit Wide(VecOps &o) : o(o), f64(o.typed(o.b.getF64Type())), i64(o.typed(o.b.getI64Type())) {}
  Value f(double v) { return o.constant(f64, o.b.getF64FloatAttr(v)); }
  Value i(int64_t v) { return o.constant(i64, o.b.getI64IntegerAttr(v)); }
  Value extend(Value v) { return o.make<arith::ExtFOp>(f64, v); }
  Value bits(Value v) { return o.make<arith::BitcastOp>(i64, v); }
  Value fromBits(Value v) { return o.make<arith::BitcastOp>(f64, v); }
  Value poly(Value x, ArrayRef<double> highestFirst) {
    Value r = f(highestFirst.front());
    for (double c : highestFirst.drop_front())
      r = o.fma(r, x, f(c));
    return r;
  }

  /// log2 of positive finite values that came from f32 (so never f64 denormals): e + 2/ln2 atanh((m-1)/(m+1)).
  Value log2(Value x) {
    Value top = i(0x3fe6a09e667f3bcdLL); // sqrt(1/2): m in [sqrt(1/2), sqrt(2))
    Value e = o.andi(o.subi(bits(x), top), i(int64_t(0xfff0000000000000ull)));
    Value m = fromBits(o.subi(bits(x), e));
    Value exponent = o.mul(o.make<arith::SIToFPOp>(f64, e), f(0x1p-52));
    Value s = o.div(o.sub(m, f(1)), o.add(m, f(1))), z = o.mul(s, s);
    // sum z^k / (2k + 1): |s| <= 0.1716, the first dropped term is 2e-16 relative.
    Value series = poly(z, {1. / 19, 1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3, 1.});
    return o.fma(o.mul(s, series), f(2.8853900817779268), exponent);
  }

  /// 2^t, t clamped to +-1000 (f32 results over- and underflow long before).
  Value exp2(Value t) {
    t = o.select(o.cmp(Pred::OLT, t, f(-1000)), f(-1000), t);
    t = o.select(o.cmp(Pred::OGT, t, f(1000)), f(1000), t);
    Value sum = o.add(t, f(0x1.8p52)), r = o.mul(o.sub(t, o.sub(sum, f(0x1.8p52))), f(0.6931471805599453));
    // Taylor to r^11 / 11!: |r| <= 0.347, error 6e-15.
    Value p = poly(r, {1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720, 1. / 120, 1. / 24,
                       1. / 6, 1. / 2, 1., 1.});
    return fromBits(o.addi(bits(p), o.shl(bits(sum), i(52))));
  }

private:
  VecOps &o;
  Type f64, i64;
};

} // namespace

/// IEEE 754 pow: 1 for y = 0 and x = 1 (even with a NaN), NaN for x < 0 and y not an integer.
Value emitPow(VecOps &o, Value x, Value y) {
  if (std::optional<float> c = constantFloat(y)) {
    if (*c == 1.f)
      return x;
    if (*c == 2.f)
      return o.mul(x, x);
    if (*c == 3.f)
      return o.mul(o.mul(x, x), x);
    if (*c == -1.f)
      return o.div(o.f(1.f), x);
  }
  constexpr float inf = std::numeric_limits<float>::infinity();
  Wide w(o);
  Value a = o.abs(x), zero = o.f(0.f), one = o.f(1.f);
  // Finite positive magnitudes; the others are replaced below.
  Value ordinary = o.make<arith::AndIOp>(o.cmp(Pred::OGT, a, zero), o.cmp(Pred::OLT, a, o.f(inf)));
  Value t = o.mul(w.log2(w.extend(o.select(ordinary, a, one))), w.extend(y));
  Value magnitude = o.make<arith::TruncFOp>(o.f32(), w.exp2(t));
  // |x| = 0 or inf: 0 if the exponent pulls that way, else inf.
  Value toInf = o.make<arith::XOrIOp>(o.cmp(Pred::OEQ, a, zero), o.cmp(Pred::OGT, y, zero));
  magnitude = o.select(ordinary, magnitude, o.select(toInf, o.f(inf), zero));
  // Sign: negative for a negative base (or -0) and an odd integer exponent. Beyond 2^24 every float is even.
  Value integer = o.cmp(Pred::OEQ, o.make<math::FloorOp>(y), y);
  Value half = o.mul(y, o.f(0.5f));
  Value odd = o.make<arith::AndIOp>(integer, o.cmp(Pred::ONE, o.make<math::FloorOp>(half), half));
  Value signBit = o.andi(o.bits(x), o.i(0x80000000u));
  Value r = o.fromBits(o.xori(o.bits(magnitude), o.select(odd, signBit, o.i(0))));
  Value nan = o.f(std::numeric_limits<float>::quiet_NaN());
  Value invalid = o.make<arith::AndIOp>(o.cmp(Pred::OLT, x, zero), o.cmp(Pred::UNE, o.make<math::FloorOp>(y), y));
  invalid = o.make<arith::AndIOp>(invalid, o.cmp(Pred::OGT, x, o.f(-inf))); // pow(-inf, 0.5) = inf
  r = o.select(invalid, nan, r);
  r = o.select(o.cmp(Pred::UNO, x, y), nan, r);
  Value isOne = o.make<arith::OrIOp>(o.cmp(Pred::OEQ, y, zero), o.cmp(Pred::OEQ, x, one));
  // (-1)^(+-inf) = 1
  Value minusOne = o.make<arith::AndIOp>(o.cmp(Pred::OEQ, a, one), o.cmp(Pred::OEQ, o.abs(y), o.f(inf)));
  return o.select(o.make<arith::OrIOp>(isOne, minusOne), one, r);
}

} // namespace gaudi::cpu
