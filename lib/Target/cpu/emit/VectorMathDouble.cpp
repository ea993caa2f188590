//===- VectorMathDouble.cpp - functions of f64 ----------------------------===//
//
// The same reductions as in f32 (VectorMathExp.cpp), with series long enough for 53 bits: Taylor where the argument is
// reduced to a third, our own Chebyshev fit for erfc. Speed is no aim here: models compute in f32.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/VectorMath.h"
#include "lib/Target/cpu/emit/VectorMathOps.h"

#include <limits>

using namespace mlir;

namespace gaudi::cpu {

using Pred = VecOps::Pred;
using graph::BinaryKind;
using graph::UnaryKind;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
/// Adding 1.5 * 2^52 rounds to an integer, which the low bits of the sum then hold.
constexpr double kRoundMagic = 0x1.8p52;

/// x = n ln2 + r, |r| <= 0.347; n as an integer. `lost` is what r could not hold.
struct Reduced {
  Value r, lost, integer;
};

/// Of x + low, or of x alone (then nothing is kept in `lost`).
Reduced reduceByLn2(WideOps &o, Value x, Value low = {}) {
  Value sum = o.fma(x, o.f(0x1.71547652b82fep+0), o.f(kRoundMagic));
  Value n = o.sub(sum, o.f(kRoundMagic)), integer = o.subi(o.bits(sum), o.bits(o.f(kRoundMagic)));
  Value high = o.fma(n, o.f(-0x1.62e42feep-1), x), rest = o.f(-0x1.a39ef35793c76p-33); // 32 bits of ln2: exact
  if (!low)
    return {o.fma(n, rest, high), {}, integer};
  Value correction = o.fma(n, rest, low), r = o.add(high, correction);
  return {r, o.sub(correction, o.sub(r, high)), integer};
}

/// (exp(r) - 1 - r) / r^2, |r| <= 0.347: Taylor, the first dropped term is 4e-18 of exp(r).
Value expSeries(WideOps &o, Value r) {
  return o.poly(r, {1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040,
                    1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2});
}

/// exp(x) - 1 for x in [0, 44], exact for small x.
Value expMinusOne(WideOps &o, Value x) {
  Reduced a = reduceByLn2(o, x);
  Value q = o.fma(o.mul(a.r, a.r), expSeries(o, a.r), a.r), scale = o.powerOfTwo(a.integer);
  return o.fma(scale, q, o.sub(scale, o.f(1)));
}

/// log(1 + f) + k ln2 with 1 + f in [sqrt(1/2), sqrt(2)): f - f^2/2 + s (f^2/2 + R(s^2)), s = f / (2 + f), where R
/// holds the terms of 2 atanh(s) from s^3 on.
Value logOf(WideOps &o, Value x) {
  Value tiny = o.cmp(Pred::OLT, x, o.f(std::numeric_limits<double>::min()));
  Value scaled = o.select(tiny, o.mul(x, o.f(0x1p54)), x); // denormals
  Value e = o.andi(o.subi(o.bits(scaled), o.i(0x3fe6a09e667f3bcd)), o.i(0xfff0000000000000));
  Value m = o.fromBits(o.subi(o.bits(scaled), e));
  Value k = o.fma(o.make<arith::SIToFPOp>(o.f64(), e), o.f(0x1p-52), o.select(tiny, o.f(-54), o.f(0)));
  Value f = o.sub(m, o.f(1)), s = o.div(f, o.add(m, o.f(1))), z = o.mul(s, s), half = o.mul(o.mul(o.f(0.5), f), f);
  // |s| <= 0.1716: the first dropped term is 2e-17.
  Value series =
      o.mul(z, o.poly(z, {2. / 21, 2. / 19, 2. / 17, 2. / 15, 2. / 13, 2. / 11, 2. / 9, 2. / 7, 2. / 5, 2. / 3}));
  Value low = o.fma(s, o.add(half, series), o.mul(k, o.f(0x1.a39ef35793c76p-33)));
  Value r = o.fma(k, o.f(0x1.62e42feep-1), o.sub(f, o.sub(half, low)));
  r = o.select(o.cmp(Pred::ULT, x, o.f(kInf)), r, x);
  Value special = o.select(o.cmp(Pred::OEQ, x, o.f(0)), o.f(-kInf), o.f(std::numeric_limits<double>::quiet_NaN()));
  return o.select(o.cmp(Pred::UGT, x, o.f(0)), o.select(o.cmp(Pred::UNO, x, x), x, r), special);
}

/// t / (t + 2), t = exp(2|x|) - 1. Beyond 20 it rounds to 1.
Value tanhOf(WideOps &o, Value x) {
  Value t = expMinusOne(o, o.mul(o.clampAbove(o.abs(x), 22), o.f(2)));
  return o.copySign(o.div(t, o.add(t, o.f(2))), x);
}

/// factor / (1 + exp(-x)) without overflow; null factor = 1.
Value sigmoidTimes(WideOps &o, Value x, Value factor) {
  Value e = emitExp(o, o.neg(o.abs(x)));
  Value numerator = o.select(o.cmp(Pred::OLT, x, o.f(0)), e, o.f(1));
  return o.div(factor ? o.mul(numerator, factor) : numerator, o.add(o.f(1), e));
}

/// exp(t^2) erfc(t), t >= 0 and finite: 4/(4+t) times a polynomial in (4-t)/(4+t), which takes [0, inf) to [-1, 1].
/// Chebyshev interpolation of degree 24 (mpmath, 50 digits), turned into powers; 3.8 units of 2^-53 with rounding.
Value scaledErfc(WideOps &o, Value t) {
  Value d = o.add(o.f(4), t), u = o.div(o.sub(o.f(4), t), d);
  Value p =
      o.poly(u, {-4.655662191430606e-11,  1.9116349931146685e-11,  5.812034872676065e-10,   -1.7628047194388404e-10,
                 -4.5521900898796249e-09, 6.8842023920777058e-11,  3.1738165500705222e-08,  1.8600660669230183e-08,
                 -2.1197057116121305e-07, -3.5588623598753061e-07, 1.1737640453840473e-06,  4.7151639629126057e-06,
                 -9.08832439127124e-07,   -4.4203192017883287e-05, -0.00011376316484544182, 7.0239714797076973e-05,
                 0.0015280139133715981,   0.006592513335173418,    0.019095378727351269,    0.043502734309983228,
                 0.082712896969502681,    0.13521345782830863,     0.19330217556630927,     0.24413718227022049,
                 0.27399891525012277});
  return o.mul(p, o.div(o.f(4), d));
}

/// exp(-scale a^2) for a scale that is a power of two: the rounding error of the square is put back.
Value expOfSquare(WideOps &o, Value a, double scale) {
  Value b = o.mul(a, o.f(scale)), square = o.mul(a, b), lost = o.fma(a, b, o.neg(square));
  Value e = emitExp(o, o.neg(square));
  return o.fma(o.neg(lost), e, e);
}

Value erfOf(WideOps &o, Value x) {
  Value a = o.abs(x), s = o.mul(x, x);
  // |x| <= 1/2: Taylor, sum of (-1)^k x^2k / (k! (2k+1)), times 2/sqrt(pi); the first dropped term is 5e-18.
  llvm::SmallVector<double> terms;
  double factorial = 1;
  for (int k = 0; k < 12; factorial *= ++k)
    terms.push_back((k % 2 ? -1 : 1) * 1.1283791670955126 / (factorial * (2 * k + 1)));
  terms[0] = 0.12837916709551256; // minus 1, which the last fma adds exactly
  Value small = o.fma(o.poly(s, llvm::to_vector(llvm::reverse(terms))), x, x);
  Value t = o.clampAbove(a, 6); // erf(6) rounds to 1
  Value large = o.sub(o.f(1), o.mul(scaledErfc(o, t), expOfSquare(o, t, 1)));
  return o.select(o.cmp(Pred::OGT, a, o.f(0.5)), o.copySign(large, x), small);
}

/// x/2 erfc(-x/sqrt 2): for positive x the complement, x - x/2 erfc(x/sqrt 2). gelu(-39) is below the least denormal.
Value geluOf(WideOps &o, Value x) {
  Value a = o.clampAbove(o.abs(x), 39);
  Value e = o.mul(scaledErfc(o, o.mul(a, o.f(0.70710678118654752440))), expOfSquare(o, a, 0.5));
  Value part = o.mul(o.mul(a, o.f(0.5)), e);
  return o.select(o.cmp(Pred::OLT, x, o.f(0)), o.neg(part), o.sub(x, part));
}

/// As in f32: x / (1 + exp(-2u)); gelu_tanh(-22) is below the least denormal.
Value geluTanhOf(WideOps &o, Value x) {
  constexpr double twice = 2 * 0.79788456080286535588;
  Value c = o.clampBelow(x, -22), s = o.clampAbove(c, 22);
  Value u = o.mul(s, o.fma(o.mul(s, s), o.f(twice * 0.044715), o.f(twice)));
  return sigmoidTimes(o, u, c);
}

/// max(x, 0) + log1p(exp(-|x|)), see emitSoftplus.
Value softplusOf(WideOps &o, Value x) {
  Value e = emitExp(o, o.neg(o.abs(x))), w = o.add(o.f(1), e);
  Value lost = o.div(o.sub(e, o.sub(w, o.f(1))), w);
  Value positive = o.select(o.cmp(Pred::OLT, x, o.f(0)), o.f(0), x);
  return o.add(positive, o.add(logOf(o, w), lost));
}

} // namespace

/// 2^n exp(r), in two steps so that denormals and the overflow come out right. With `low` the reduced argument keeps
/// its rounding error too: before the last rounding less than half an ulp is lost then, so that exact results are
/// exact.
Value emitExp(WideOps &o, Value x, Value low) {
  Reduced a = reduceByLn2(o, o.clampAbove(o.clampBelow(x, -746), 710), low);
  Value square = o.mul(a.r, a.r), series = expSeries(o, a.r);
  Value p = low ? o.add(a.r, o.fma(square, series, a.lost)) : o.fma(square, series, a.r);
  p = o.add(p, o.f(1));
  Value half = o.sar(a.integer, o.i(1));
  return o.mul(o.mul(p, o.powerOfTwo(o.subi(a.integer, half))), o.powerOfTwo(half));
}

Value emitDoubleUnary(OpBuilder &builder, Location loc, UnaryKind kind, Value x) {
  WideOps o(builder, loc, x.getType());
  switch (kind) {
  case UnaryKind::exp:
    return emitExp(o, x);
  case UnaryKind::log:
    return logOf(o, x);
  case UnaryKind::sin:
    return emitSinCos(o, x, /*cosine=*/false);
  case UnaryKind::cos:
    return emitSinCos(o, x, /*cosine=*/true);
  case UnaryKind::tanh:
    return tanhOf(o, x);
  case UnaryKind::sigmoid:
    return sigmoidTimes(o, x, {});
  case UnaryKind::erf:
    return erfOf(o, x);
  case UnaryKind::gelu:
    return geluOf(o, x);
  case UnaryKind::gelu_tanh:
    return geluTanhOf(o, x);
  case UnaryKind::silu:
    return sigmoidTimes(o, x, o.clampBelow(x, -760)); // -inf * 0 would be NaN; exp(-760) is 0
  case UnaryKind::softplus:
    return softplusOf(o, x);
  default:
    llvm_unreachable("one instruction (ElementOps.cpp)");
  }
}

Value emitDoubleBinary(OpBuilder &builder, Location loc, BinaryKind kind, Value lhs, Value rhs) {
  WideOps o(builder, loc, lhs.getType());
  return kind == BinaryKind::pow ? emitPow(o, lhs, rhs) : emitFmod(o, lhs, rhs);
}

} // namespace gaudi::cpu
