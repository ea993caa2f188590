//===- VectorMathPow.cpp - x^y for f32 (through f64) and f64 --------------===//
#include "lib/Target/cpu/emit/VectorMathOps.h"

#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;

namespace gaudi::cpu {

using Pred = VecOps::Pred;

namespace {

/// The value of a constant splat or scalar, else nullopt.
std::optional<double> constantNumber(Value v) {
  // Look through the broadcast of a scalar constant.
  if (auto broadcast = v.getDefiningOp<vector::BroadcastOp>())
    v = broadcast.getSource();
  Attribute attr;
  if (!matchPattern(v, m_Constant(&attr)))
    return std::nullopt;
  if (auto splat = dyn_cast<SplatElementsAttr>(attr))
    return splat.getSplatValue<APFloat>().convertToDouble();
  if (auto scalar = dyn_cast<FloatAttr>(attr))
    return scalar.getValueAsDouble();
  return std::nullopt;
}

/// Exponents that need no logarithm; null for the others.
Value simplePow(VecOps &o, Value x, Value y, Value one) {
  std::optional<double> c = constantNumber(y);
  if (!c)
    return {};
  if (*c == 1)
    return x;
  if (*c == 2)
    return o.mul(x, x);
  if (*c == 3)
    return o.mul(o.mul(x, x), x);
  return *c == -1 ? o.div(one, x) : Value();
}

/// What is not |x|^y of a finite positive |x|: IEEE 754 pow, 1 for y = 0 and x = 1 (even with a NaN), NaN for x < 0 and
/// y not an integer. `number` makes constants of x's type.
Value finishPow(VecOps &o, Value x, Value y, Value magnitude, llvm::function_ref<Value(double)> number) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value a = o.abs(x), zero = number(0), one = number(1), inf = number(infinity);
  Value ordinary = o.both(o.cmp(Pred::OGT, a, zero), o.cmp(Pred::OLT, a, inf));
  // |x| = 0 or inf: 0 if the exponent pulls that way, else inf.
  Value toInf = o.make<arith::XOrIOp>(o.cmp(Pred::OEQ, a, zero), o.cmp(Pred::OGT, y, zero));
  magnitude = o.select(ordinary, magnitude, o.select(toInf, inf, zero));
  // Negative for a negative base (or -0) and an odd integer exponent. Large floats are all even.
  Value integer = o.cmp(Pred::OEQ, o.make<math::FloorOp>(y), y);
  Value half = o.mul(y, number(0.5));
  Value odd = o.both(integer, o.cmp(Pred::ONE, o.make<math::FloorOp>(half), half));
  Value r = o.select(odd, o.copySign(magnitude, x), magnitude);
  Value nan = number(std::numeric_limits<double>::quiet_NaN());
  Value invalid = o.both(o.cmp(Pred::OLT, x, zero), o.cmp(Pred::UNE, o.make<math::FloorOp>(y), y));
  invalid = o.both(invalid, o.cmp(Pred::OGT, x, number(-infinity))); // pow(-inf, 0.5) = inf
  r = o.select(invalid, nan, r);
  r = o.select(o.cmp(Pred::UNO, x, y), nan, r);
  Value isOne = o.either(o.cmp(Pred::OEQ, y, zero), o.cmp(Pred::OEQ, x, one));
  // (-1)^(+-inf) = 1
  Value minusOne = o.both(o.cmp(Pred::OEQ, a, one), o.cmp(Pred::OEQ, o.abs(y), inf));
  return o.select(o.either(isOne, minusOne), one, r);
}

/// 1 where the logarithm of |x| would be infinite; finishPow replaces those lanes.
Value ordinaryBase(VecOps &o, Value a, llvm::function_ref<Value(double)> number) {
  Value ordinary =
      o.both(o.cmp(Pred::OGT, a, number(0)), o.cmp(Pred::OLT, a, number(std::numeric_limits<double>::infinity())));
  return o.select(ordinary, a, number(1));
}

/// log2 in f64 of positive finite values that came from f32 (so never f64 denormals): e + 2/ln2 atanh((m-1)/(m+1)).
/// 40 correct bits of y log2|x| are enough for half an ulp of f32.
Value log2OfFloat(WideOps &w, Value x) {
  Value top = w.i(0x3fe6a09e667f3bcd); // sqrt(1/2): m in [sqrt(1/2), sqrt(2))
  Value e = w.andi(w.subi(w.bits(x), top), w.i(0xfff0000000000000));
  Value m = w.fromBits(w.subi(w.bits(x), e));
  Value exponent = w.mul(w.make<arith::SIToFPOp>(w.f64(), e), w.f(0x1p-52));
  Value s = w.div(w.sub(m, w.f(1)), w.add(m, w.f(1))), z = w.mul(s, s);
  // sum z^k / (2k + 1): |s| <= 0.1716, the first dropped term is 2e-16 relative.
  Value series = w.poly(z, {1. / 19, 1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3, 1.});
  return w.fma(w.mul(s, series), w.f(2.8853900817779268), exponent);
}

/// 2^t, t clamped to +-1000 (f32 results over- and underflow long before).
Value exp2ForFloat(WideOps &w, Value t) {
  t = w.clampAbove(w.clampBelow(t, -1000), 1000);
  Value sum = w.add(t, w.f(0x1.8p52)), r = w.mul(w.sub(t, w.sub(sum, w.f(0x1.8p52))), w.f(0.6931471805599453));
  // Taylor to r^11 / 11!: |r| <= 0.347, error 6e-15.
  Value p = w.poly(r, {1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720, 1. / 120, 1. / 24,
                       1. / 6, 1. / 2, 1., 1.});
  return w.fromBits(w.addi(w.bits(p), w.shl(w.bits(sum), w.i(52))));
}

/// An unevaluated sum: about 100 bits.
struct Pair {
  Value high, low;
};

/// log of positive finite f64 to 2^-60 relative: y log x has an absolute error below 2^-50 even at the ends of the
/// range.
Pair logPair(WideOps &w, Value x) {
  Value tiny = w.cmp(Pred::OLT, x, w.f(std::numeric_limits<double>::min()));
  x = w.select(tiny, w.mul(x, w.f(0x1p54)), x);
  Value e = w.andi(w.subi(w.bits(x), w.i(0x3fe6a09e667f3bcd)), w.i(0xfff0000000000000));
  Value m = w.fromBits(w.subi(w.bits(x), e));
  Value k = w.fma(w.make<arith::SIToFPOp>(w.f64(), e), w.f(0x1p-52), w.select(tiny, w.f(-54), w.f(0)));
  // log m = 2 atanh(s), s = (m-1)/(m+1) with its rounding error: 2s is the bulk, the series of the rest is 1 % of it.
  Value f = w.sub(m, w.f(1)), d = w.add(m, w.f(1)), dLow = w.sub(m, w.sub(d, w.f(1)));
  Value s = w.div(f, d);
  Value sLow = w.div(w.fma(w.neg(s), dLow, w.fma(w.neg(s), d, f)), d);
  Value z = w.mul(s, s);
  Value series =
      w.mul(z, w.poly(z, {2. / 21, 2. / 19, 2. / 17, 2. / 15, 2. / 13, 2. / 11, 2. / 9, 2. / 7, 2. / 5, 2. / 3}));
  Value tail = w.fma(s, series, w.mul(w.f(2), sLow));
  // k ln2 in two parts, the first of 32 bits: exact. Then an exact sum of it and 2s (Knuth).
  Value big = w.mul(k, w.f(0x1.62e42feep-1)), bulk = w.mul(w.f(2), s);
  Value sum = w.add(big, bulk), back = w.sub(sum, big);
  Value lost = w.add(w.sub(big, w.sub(sum, back)), w.sub(bulk, back));
  Value low = w.add(lost, w.fma(k, w.f(0x1.a39ef35793c76p-33), tail));
  Value high = w.add(sum, low);
  return {high, w.sub(low, w.sub(high, sum))};
}

} // namespace

Value emitPow(VecOps &o, Value x, Value y) {
  auto number = [&](double v) { return o.f(static_cast<float>(v)); };
  if (Value simple = simplePow(o, x, y, number(1)))
    return simple;
  WideOps w(o.b, o.loc, x.getType());
  Value base = w.make<arith::ExtFOp>(w.f64(), ordinaryBase(o, o.abs(x), number));
  Value t = w.mul(log2OfFloat(w, base), w.make<arith::ExtFOp>(w.f64(), y));
  Value magnitude = o.make<arith::TruncFOp>(o.f32(), exp2ForFloat(w, t));
  return finishPow(o, x, y, magnitude, number);
}

Value emitPow(WideOps &o, Value x, Value y) {
  auto number = [&](double v) { return o.f(v); };
  if (Value simple = simplePow(o, x, y, number(1)))
    return simple;
  Pair log = logPair(o, ordinaryBase(o, o.abs(x), number));
  Value t = o.mul(y, log.high), low = o.fma(y, log.low, o.fma(y, log.high, o.neg(t)));
  // Over- and underflow are decided by t alone; there `low` may be infinity minus infinity.
  low = o.select(o.cmp(Pred::OLT, o.abs(t), o.f(800)), low, o.f(0));
  return finishPow(o, x, y, emitExp(o, t, low), number);
}

} // namespace gaudi::cpu
