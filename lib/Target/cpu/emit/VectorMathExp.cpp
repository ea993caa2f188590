//===- VectorMathExp.cpp - exp, log and what follows from them ------------===//
//
// Textbook range reductions (Cody and Waite, Software Manual for the Elementary Functions) and our own minimax fits:
// tools/dev/fit-polynomials prints every coefficient of exp, log, erf, sin and cos. tanh and GELU: fits of
// prototypes/cpu-algorithms/fit.py.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/VectorMath.h"
#include "lib/Target/cpu/emit/VectorMathOps.h"

#include <limits>

using namespace mlir;

namespace gaudi::cpu {

using Pred = VecOps::Pred;

/// Adding and subtracting 1.5 * 2^23 rounds to an integer (nearest even) for |x| < 2^22; the low mantissa bits of the
/// sum then hold the integer, which saves a float -> int conversion.
constexpr float kRoundMagic = 12582912.f;
constexpr float kLog2e = 1.44269504f;
constexpr float kInf = std::numeric_limits<float>::infinity();

/// exp(x) for x clamped to [-104, 89] = 2^n * p(r). Scales in two steps so that n in [-150, 128] cannot leave the
/// exponent field: this is what makes denormal results and the overflow to infinity right.
Value emitExp(VecOps &o, Value x) {
  // Below -104 the result is under half the least denormal, above 89 over the largest float.
  Value c = o.clampAbove(o.clampBelow(x, -104.f), 89.f);
  Value sum = o.fma(c, o.f(kLog2e), o.f(kRoundMagic));
  Value n = o.sub(sum, o.f(kRoundMagic));
  Value r = o.fma(n, o.f(-0.693147182f), c); // ln2, high part: exact, a multiple of 2^-24 below 1
  r = o.fma(n, o.f(1.90465421e-09f), r);     // ln2, low part
  Value p = o.poly(r, {0.00138189388f, 0.00836870354f, 0.0416682884f, 0.166665211f, 0.49999994f, 1.f, 1.f});
  Value ni = o.subi(o.bits(sum), o.bits(o.f(kRoundMagic)));
  Value half = o.sar(ni, o.i(1));
  Value bias = o.i(127), shift = o.i(23);
  Value low = o.fromBits(o.shl(o.addi(half, bias), shift));
  Value high = o.fromBits(o.shl(o.addi(o.subi(ni, half), bias), shift));
  return o.mul(o.mul(p, high), low);
}

Value emitExp2NonPositive(OpBuilder &builder, Location loc, Value t) {
  VecOps o(builder, loc, t.getType());
  // -127 makes the exponent add give +0 exactly (f = 0, p = 1). Degree 5: 1.2e-7 (cpu-algorithms.md 4).
  t = o.clampBelow(t, -127.f);
  Value sum = o.add(t, o.f(kRoundMagic));
  Value f = o.sub(t, o.sub(sum, o.f(kRoundMagic)));
  Value p = o.poly(f, {0.0013264720551199277f, 0.009671513115111769f, 0.05550733765222082f, 0.24022242075006942f,
                       0.6931469775840461f, 1.f});
  return o.fromBits(o.addi(o.bits(p), o.shl(o.bits(sum), o.i(23))));
}

/// log(x) = log(1 + f) + e ln2, 1 + f in [sqrt(1/2), sqrt(2)).
Value emitLog(VecOps &o, Value x) {
  Value tiny = o.cmp(Pred::OLT, x, o.f(std::numeric_limits<float>::min()));
  Value scaled = o.select(tiny, o.mul(x, o.f(8388608.f)), x); // 2^23 brings denormals into range
  Value e = o.andi(o.subi(o.bits(scaled), o.bits(o.f(0.707106769f))), o.i(0xff800000u));
  Value m = o.fromBits(o.subi(o.bits(scaled), e));
  Value exponent = o.fma(o.make<arith::SIToFPOp>(o.f32(), e), o.f(1.19209290e-7f), // 2^-23
                         o.select(tiny, o.f(-23.f), o.f(0.f)));
  Value f = o.sub(m, o.f(1.f)), s = o.mul(f, f);
  Value p = o.poly(f, {0.0675095618f, -0.116714492f, 0.11883568f, -0.124060318f, 0.142203271f, -0.166679963f,
                       0.20002073f, -0.250000089f, 0.333333135f});
  // f - f^2/2 + f^3 p, smallest terms first; the high part of ln2 has 16 bits, so its product with e is exact.
  Value r = o.mul(s, o.fma(f, p, o.f(-0.5f)));
  r = o.fma(exponent, o.f(1.42860677e-06f), r);
  r = o.add(r, f);
  r = o.fma(exponent, o.f(0.693145752f), r);
  // +Inf, NaN, 0 and negative inputs never have a meaningful m.
  r = o.select(o.cmp(Pred::ULT, x, o.f(kInf)), r, x); // ULT keeps a NaN's r, mended by the next line
  Value special = o.select(o.cmp(Pred::OEQ, x, o.f(0.f)), o.f(-kInf), o.f(std::numeric_limits<float>::quiet_NaN()));
  return o.select(o.cmp(Pred::UGT, x, o.f(0.f)), o.select(o.cmp(Pred::UNO, x, x), x, r), special);
}

/// |x| < 0.6: odd polynomial (fit 2.6e-9 relative); else 1 - 2 / (exp(2|x|) + 1).
Value emitTanh(VecOps &o, Value x) {
  Value a = o.abs(x), s = o.mul(x, x);
  Value p = o.poly(s, {-0.0059058452367928265f, 0.020805363666043516f, -0.05378667698534484f, 0.1333195815933886f,
                       -0.33333299268650474f});
  Value small = o.fma(o.mul(p, s), x, x);
  // Beyond 9.02 the result rounds to 1; the clamp keeps exp finite.
  Value e = emitExp(o, o.mul(o.clampAbove(a, 10.f), o.f(2.f)));
  Value large = o.sub(o.f(1.f), o.div(o.f(2.f), o.add(e, o.f(1.f))));
  return o.select(o.cmp(Pred::OLT, a, o.f(0.6f)), small, o.copySign(large, x));
}

/// With e = exp(-|x|): factor * (x >= 0 ? 1 : e) / (1 + e). Never overflows, exact down to the denormals.
Value emitSigmoidTimes(VecOps &o, Value x, Value factor) {
  Value e = emitExp(o, o.neg(o.abs(x)));
  Value numerator = o.select(o.cmp(Pred::OLT, x, o.f(0.f)), e, o.f(1.f));
  if (factor)
    numerator = o.mul(numerator, factor);
  Value r = o.div(numerator, o.add(o.f(1.f), e));
  return r;
}

Value emitErf(VecOps &o, Value x) {
  Value t = o.abs(x), s = o.mul(x, x);
  // |x| > 1: 1 - exp(log(erfc(t))); erf(3.92) already rounds to 1, the fit ends at 4.
  Value tc = o.clampAbove(t, 4.f);
  Value q = o.poly(tc, {2.10603289e-07f, -2.47356056e-05f, 0.000460259704f, -0.00427035475f, 0.0253484491f,
                        -0.108606122f, -0.633065999f, -1.12964928f, 0.000202063573f});
  Value large = o.copySign(o.sub(o.f(1.f), emitExp(o, q)), x);
  Value p = o.poly(
      s, {7.80690316e-05f, -0.00079978531f, 0.0051871622f, -0.0268533472f, 0.112835787f, -0.37612626f, 0.128379166f});
  Value small = o.fma(p, x, x);
  return o.select(o.cmp(Pred::OGT, t, o.f(1.f)), large, small);
}

/// x (1/2 + y P(y^2) / Q(y^2)), y = x clamped to +-5.6: one division instead of an erf with its exp; a pure polynomial
/// of degree 14 is too inaccurate in fp32 (cpu-algorithms.md 4). Exactly 0 below -5.6, so gelu(-inf) = 0.
Value emitGelu(VecOps &o, Value x) {
  constexpr float bound = 5.6f;
  Value y = o.clampAbove(o.clampBelow(x, -bound), bound), u = o.mul(y, y);
  Value p = o.poly(u, {1.0944335338516381e-10f, -2.353030217806991e-08f, 3.897164109829966e-06f, 0.0002217068763203022f,
                       0.0048215677636727254f, 0.0406637693416894f, 0.3989413538228415f});
  Value q = o.poly(u, {8.038415000937868e-05f, 0.002118064126985675f, 0.03186409625639481f, 0.2685858770357757f, 1.f});
  // Q is in [1, 111], so a reciprocal estimate with one Newton step has no special case: vdivps zmm is 16 cycles.
  Value ratio = arith::DivFOp::create(o.b, o.loc, o.mul(y, p), q, arith::FastMathFlags::arcp);
  // At most 1/2: an ulp more, and gelu of the largest floats is infinite.
  Value r = o.fma(x, o.clampAbove(ratio, 0.5f), o.mul(x, o.f(0.5f)));
  return o.select(o.cmp(Pred::OLT, x, o.f(-bound)), o.f(0.f), r);
}

/// max(x, 0) + log1p(exp(-|x|)); log1p(e) = log(w) + (e - (w - 1)) / w with w = 1 + e recovers what 1 + e lost.
Value emitSoftplus(VecOps &o, Value x) {
  Value e = emitExp(o, o.neg(o.abs(x)));
  Value w = o.add(o.f(1.f), e);
  Value lost = o.div(o.sub(e, o.sub(w, o.f(1.f))), w);
  Value log1p = o.add(emitLog(o, w), lost);
  Value positive = o.select(o.cmp(Pred::OLT, x, o.f(0.f)), o.f(0.f), x);
  return o.add(positive, log1p);
}

} // namespace gaudi::cpu
