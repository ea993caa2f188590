//===- VectorMathDoubleRange.cpp - sin, cos and fmod of any f64 -----------===//
//
// The functions whose range reduction is the work: a quotient may have 2,000 bits, and only its end matters.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/VectorMathOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;

namespace gaudi::cpu {

using Pred = VecOps::Pred;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
/// Up to here the quadrant has 20 bits, and its products with 33-bit parts of pi/2 are exact.
constexpr double kFastLimit = 0x1p20;

/// Cody-Waite with pi/2 in parts of 33, 33 and 53 bits.
QuarterTurns reduceFast(WideOps &o, Value x) {
  Value sum = o.fma(x, o.f(0x1.45f306dc9c883p-1), o.f(0x1.8p52)), n = o.sub(sum, o.f(0x1.8p52));
  Value r = o.fma(n, o.f(-0x1.921fb544p+0), x);
  r = o.fma(n, o.f(-0x1.0b4611a6p-34), r);
  r = o.fma(n, o.f(-0x1.3198a2e037073p-69), r);
  return {r, o.bits(sum)};
}

/// words[index], words[index + 1] ... (`count` of them) per lane, index < 64: halves the list once per bit of the
/// index.
SmallVector<Value> pickWords(WideOps &o, ArrayRef<uint32_t> words, Value index, size_t count) {
  SmallVector<Value> list = llvm::map_to_vector(words, [&](uint32_t w) { return o.i(w); });
  for (uint64_t bit = 32; bit; bit /= 2) {
    Value isSet = o.cmpi(arith::CmpIPredicate::ne, o.andi(index, o.i(bit)), o.i(0));
    size_t length = std::min(list.size(), count + bit - 1); // what the lower bits can still reach
    for (size_t k = 0; k < length; ++k)
      list[k] = k + bit < list.size() ? o.select(isSet, list[k + bit], list[k]) : list[k];
    list.resize(length);
  }
  return list;
}

/// Payne-Hanek, as in f32: |x| = m 2^e with a 64-bit integer m, and only the 192 bits of 1/(2 pi) from bit e on matter.
/// Of m times them, modulo 1, 128 bits are kept: no double comes nearer than 2^-62 to a multiple of pi/2.
QuarterTurns reduceLarge(WideOps &o, Value x) {
  // 1/(2 pi) behind 64 zero bits, which serve |x| < 2^64.
  static constexpr uint32_t kOneOverTwoPi[] = {
      0,           0,           0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u, 0x4f10e410u,
      0x7f9458eau, 0xf7aef158u, 0x6dc91b8eu, 0x909374b8u, 0x01924bbau, 0x82746487u, 0x3f877ac7u, 0x2c4a69cfu,
      0xba208d7du, 0x4baed121u, 0x3a671c09u, 0xad17df90u, 0x4e64758eu, 0x60d4ce7du, 0x272117e2u, 0xef7e4a0eu,
      0xc7fe25ffu, 0xf7816603u, 0xfbcbc462u, 0xd6829b47u, 0xdb4d9fb3u, 0xc9f2c26du, 0xd3d18fd9u, 0xa797fa8bu,
      0x5d49eeb1u, 0xfaf97c5eu, 0xcf41ce7du, 0xe294a4bau, 0x9afed7ecu, 0x47e35742u, 0x1580cc11u, 0xbf1edaeau};
  constexpr size_t limbs = 6;
  Value raw = o.bits(o.abs(x)), mask = o.i(0xffffffff), shift32 = o.i(32);
  // With the leading one at bit 63 of m, e = biased exponent - 1086; the zero words add 64.
  Value e = o.subi(o.shr(raw, o.i(52)), o.i(1022));
  Value m = o.shl(o.ori(o.andi(raw, o.i(0xfffffffffffff)), o.i(0x10000000000000)), o.i(11));
  Value a = o.shr(m, shift32), b = o.andi(m, mask), shift = o.andi(e, o.i(31));
  SmallVector<Value> words = pickWords(o, kOneOverTwoPi, o.shr(e, o.i(5)), limbs + 1), w;
  for (size_t i = 0; i < limbs; ++i) // (words[i]:words[i+1] << shift) >> 32
    w.push_back(o.shr(o.shl(o.ori(o.shl(words[i], shift32), words[i + 1]), shift), shift32));
  auto product = [&](Value p, Value q) { return Value(o.make<arith::MulIOp>(p, q)); };
  // Limb k of the fraction (weight 2^-32(k+1)) gets the low halves of a w[k+1] and b w[k], the high ones of a w[k+2]
  // and b w[k+1]. Limb 4 is there for its carry.
  Value carry = o.i(0);
  Value fraction[4];
  for (int k = 4; k >= 0; --k) {
    Value sum = o.addi(carry, o.addi(o.andi(product(a, w[k + 1]), mask), o.andi(product(b, w[k]), mask)));
    sum = o.addi(sum, o.shr(product(b, w[k + 1]), shift32));
    if (k + 2 < static_cast<int>(limbs))
      sum = o.addi(sum, o.shr(product(a, w[k + 2]), shift32));
    carry = o.shr(sum, shift32);
    if (k < 4)
      fraction[k] = o.andi(sum, mask);
  }
  Value high = o.ori(o.shl(fraction[0], shift32), fraction[1]), low = o.ori(o.shl(fraction[2], shift32), fraction[3]);
  // Round to the nearest quadrant; the rest is signed.
  Value q = o.shr(o.addi(high, o.i(uint64_t(1) << 61)), o.i(62));
  Value signedHigh = o.make<arith::SIToFPOp>(o.f64(), o.subi(high, o.shl(q, o.i(62))));
  Value unsignedLow = o.make<arith::SIToFPOp>(o.f64(), o.shr(low, o.i(1)));
  Value turns = o.fma(unsignedLow, o.f(0x1p-63), signedHigh);
  Value rest = o.mul(turns, o.f(1.5707963267948966 * 0x1p-62));
  Value negative = o.cmp(Pred::OLT, x, o.f(0));
  return {o.select(negative, o.neg(rest), rest), o.select(negative, o.subi(o.i(0), q), q)};
}

} // namespace

Value emitSinCos(WideOps &o, Value x, bool cosine) {
  Value huge = o.cmp(Pred::OGT, o.abs(x), o.f(kFastLimit));
  auto [r, q] = unlessHuge(o, huge, reduceFast(o, x), [&] { return reduceLarge(o, x); });
  if (cosine)
    q = o.addi(q, o.i(1)); // cos(x) = sin(x + pi/2)
  Value s = o.mul(r, r);
  // Taylor, |r| <= 0.786: the first dropped terms are 8e-20 and 2e-18.
  Value sinSeries = o.poly(s, {1. / 355687428096000, -1. / 1307674368000, 1. / 6227020800, -1. / 39916800, 1. / 362880,
                               -1. / 5040, 1. / 120, -1. / 6});
  Value cosSeries = o.poly(s, {1. / 20922789888000, -1. / 87178291200, 1. / 479001600, -1. / 3628800, 1. / 40320,
                               -1. / 720, 1. / 24, -1. / 2, 1.});
  Value sine = o.fma(o.mul(r, s), sinSeries, r);
  Value odd = o.cmpi(arith::CmpIPredicate::ne, o.andi(q, o.i(1)), o.i(0));
  Value magnitude = o.select(odd, cosSeries, sine);
  Value result = o.fromBits(o.xori(o.bits(magnitude), o.shl(o.andi(q, o.i(2)), o.i(62))));
  Value zero = o.sub(x, x); // Inf and NaN
  return o.select(o.cmp(Pred::UNO, zero, zero), zero, result);
}

/// Exact: takes multiples of |y| 2^k off |x|, 50 bits of the quotient at a time, until less than |y| is left.
Value emitFmod(WideOps &o, Value x, Value y) {
  Value a = o.abs(x), d = o.abs(y);
  Value valid =
      o.both(o.both(o.cmp(Pred::OLT, a, o.f(kInf)), o.cmp(Pred::OLT, d, o.f(kInf))), o.cmp(Pred::OGT, d, o.f(0)));
  // The mantissa of y as a number in [1, 2): every multiple y 2^k in the normal range is that with another exponent.
  Value denormal = o.cmp(Pred::OLT, d, o.f(std::numeric_limits<double>::min()));
  Value normalized = o.bits(o.select(denormal, o.mul(d, o.f(0x1p54)), d));
  Value mantissa = o.andi(normalized, o.i(0xfffffffffffff));
  Value loopStart = o.select(valid, a, o.f(0));
  auto loop = scf::WhileOp::create(o.b, o.loc, TypeRange{o.f64()}, ValueRange{loopStart});
  OpBuilder::InsertionGuard guard(o.b);
  Block *before = o.b.createBlock(&loop.getBefore(), {}, {o.f64()}, {o.loc});
  Value rest = before->getArgument(0);
  scf::ConditionOp::create(o.b, o.loc, o.any(o.both(valid, o.cmp(Pred::OGE, rest, d))), ValueRange{rest});
  Block *after = o.b.createBlock(&loop.getAfter(), {}, {o.f64()}, {o.loc});
  rest = after->getArgument(0);
  // t = y 2^k with an exponent 50 below that of the rest, but not below y itself.
  Value exponent = o.subi(o.shr(o.bits(rest), o.i(52)), o.i(50));
  Value t = o.fromBits(o.ori(mantissa, o.shl(exponent, o.i(52))));
  Value useful = o.both(o.cmpi(arith::CmpIPredicate::sge, exponent, o.i(1)), o.cmp(Pred::OGT, t, d));
  t = o.select(useful, t, d);
  // The fma is exact: less than one t is left, or, where the quotient rounded up, less than nothing. (A denormal y may
  // need more than 53 bits of quotient; then several y are missing.)
  Value n = o.make<math::TruncOp>(o.div(rest, t)), next = o.fma(o.neg(n), t, rest);
  Value missing = o.add(o.make<math::TruncOp>(o.neg(o.div(next, t))), o.f(1));
  next = o.select(o.cmp(Pred::OLT, next, o.f(0)), o.fma(missing, t, next), next);
  scf::YieldOp::create(o.b, o.loc, ValueRange{o.select(o.cmp(Pred::OGE, rest, d), next, rest)});
  o.b.setInsertionPointAfter(loop);
  Value result = o.copySign(loop.getResult(0), x);
  // A finite x against an infinite y stays; everything else that is not valid is NaN.
  Value keep = o.both(o.cmp(Pred::OEQ, d, o.f(kInf)), o.cmp(Pred::OLT, a, o.f(kInf)));
  result = o.select(valid, result, o.f(std::numeric_limits<double>::quiet_NaN()));
  return o.select(keep, x, result);
}

} // namespace gaudi::cpu
