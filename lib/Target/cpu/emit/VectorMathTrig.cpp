//===- VectorMathTrig.cpp - sin and cos over the whole range --------------===//
#include "lib/Target/cpu/emit/VectorMath.h"
#include "lib/Target/cpu/emit/VectorMathOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace gaudi::cpu {

using Pred = VecOps::Pred;

namespace {

/// Cody-Waite in three 24-bit parts: the first FMA is exact (a multiple of 2^-24 below 1), the parts together give pi/2
/// to 2^-76, and up to here the quadrant has 16 bits.
constexpr float kFastLimit = 65536.f;

QuarterTurns reduceFast(VecOps &o, Value x) {
  Value sum = o.fma(x, o.f(0.636619747f), o.f(12582912.f));
  Value n = o.sub(sum, o.f(12582912.f));
  Value r = o.fma(n, o.f(-1.57079637f), x);
  r = o.fma(n, o.f(4.37113883e-08f), r);
  r = o.fma(n, o.f(1.71512451e-15f), r);
  return {r, o.bits(sum)};
}

/// Payne-Hanek: |x| = m 2^e with a 32-bit integer m; only the 96 bits of 1/(2 pi) around bit e matter, picked from a
/// table by selects (a gather would need a global). Their product with m modulo 2^64 is x/(2 pi) modulo 1: two bits of
/// quadrant, 62 of fraction.
QuarterTurns reduceLarge(VecOps &o, Value x) {
  // 1/(2 pi), most significant word first, behind one zero word that serves |x| < 2^32.
  static constexpr uint32_t kOneOverTwoPi[] = {0,           0x28be60dbu, 0x9391054au, 0x7f09d5f4u,
                                               0x7d4d3770u, 0x36d8a566u, 0x4f10e410u, 0x7f9458eau};
  Type i64 = o.typed(o.b.getI64Type());
  auto wide = [&](Value v) -> Value { return o.make<arith::ExtUIOp>(i64, v); };
  auto c64 = [&](uint64_t v) -> Value { return o.constant(i64, o.b.getI64IntegerAttr(int64_t(v))); };
  auto bin = [&]<typename Op>(Value p, Value q) -> Value { return o.make<Op>(p, q); };
  Value raw = o.bits(x);
  // With the leading one at bit 31 of m, e = biased exponent - 158; the zero word adds 32.
  Value e = o.subi(o.andi(o.shr(raw, o.i(23)), o.i(0xff)), o.i(126));
  Value mantissa = o.shl(o.ori(o.andi(raw, o.i(0x7fffff)), o.i(0x800000)), o.i(8));
  Value shift = o.andi(e, o.i(31)), index = o.sar(e, o.i(5));
  auto word = [&](unsigned offset) { // kOneOverTwoPi[index + offset], index in 0..4
    Value r = o.i(kOneOverTwoPi[offset]);
    for (unsigned k = 1; k <= 4; ++k)
      r = o.select(o.cmpi(arith::CmpIPredicate::eq, index, o.i(k)), o.i(kOneOverTwoPi[k + offset]), r);
    return r;
  };
  Value w[4] = {word(0), word(1), word(2), word(3)};
  Value sh = wide(shift);
  auto window = [&](Value high, Value low) { // (high:low << shift) >> 32
    Value both = bin.operator()<arith::OrIOp>(bin.operator()<arith::ShLIOp>(wide(high), c64(32)), wide(low));
    return Value(bin.operator()<arith::ShRUIOp>(bin.operator()<arith::ShLIOp>(both, sh), c64(32)));
  };
  Value hi = window(w[0], w[1]), mid = window(w[1], w[2]), lo = window(w[2], w[3]);
  Value m = wide(mantissa);
  auto mul = [&](Value p, Value q) { return Value(bin.operator()<arith::MulIOp>(p, q)); };
  auto add = [&](Value p, Value q) { return Value(bin.operator()<arith::AddIOp>(p, q)); };
  Value product = add(bin.operator()<arith::ShLIOp>(mul(m, hi), c64(32)),
                      add(mul(m, mid), bin.operator()<arith::ShRUIOp>(mul(m, lo), c64(32))));
  // Round to the nearest quadrant; the rest is signed.
  Value q = bin.operator()<arith::ShRUIOp>(add(product, c64(uint64_t(1) << 61)), c64(62));
  Value fraction = bin.operator()<arith::SubIOp>(product, bin.operator()<arith::ShLIOp>(q, c64(62)));
  Type f64 = o.typed(o.b.getF64Type());
  Value d = o.make<arith::SIToFPOp>(f64, fraction);
  Value scale = o.constant(f64, o.b.getF64FloatAttr(1.5707963267948966 / 4611686018427387904.0)); // pi/2 / 2^62
  Value rest = o.make<arith::TruncFOp>(o.f32(), Value(o.make<arith::MulFOp>(d, scale)));
  Value quadrant = o.make<arith::TruncIOp>(o.i32(), q);
  Value negative = o.cmp(Pred::OLT, x, o.f(0.f));
  return {o.select(negative, o.neg(rest), rest), o.select(negative, o.subi(o.i(0), quadrant), quadrant)};
}

} // namespace

QuarterTurns unlessHuge(VecOps &o, Value huge, const QuarterTurns &fast, llvm::function_ref<QuarterTurns()> large) {
  Type types[] = {fast.rest.getType(), fast.quadrant.getType()};
  auto branch = scf::IfOp::create(o.b, o.loc, TypeRange(types), o.any(huge), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(o.b);
  o.b.setInsertionPointToStart(branch.thenBlock());
  QuarterTurns slow = large();
  scf::YieldOp::create(o.b, o.loc,
                       ValueRange{o.select(huge, slow.rest, fast.rest), o.select(huge, slow.quadrant, fast.quadrant)});
  o.b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(o.b, o.loc, ValueRange{fast.rest, fast.quadrant});
  return {branch.getResult(0), branch.getResult(1)};
}

Value emitSinCos(VecOps &o, Value x, bool cosine) {
  Value huge = o.cmp(Pred::OGT, o.abs(x), o.f(kFastLimit));
  auto [r, q] = unlessHuge(o, huge, reduceFast(o, x), [&] { return reduceLarge(o, x); });
  if (cosine)
    q = o.addi(q, o.i(1)); // cos(x) = sin(x + pi/2)
  Value s = o.mul(r, r);
  Value sinPoly = o.poly(s, {2.83253962e-06f, -0.000198530659f, 0.0083333794f, -0.166666672f});
  Value sine = o.fma(sinPoly, o.mul(r, s), r);
  Value cosineValue = o.poly(s, {-2.88312464e-07f, 2.48215329e-05f, -0.00138889789f, 0.0416666679f, -0.5f, 1.f});
  Value odd = o.cmpi(arith::CmpIPredicate::ne, o.andi(q, o.i(1)), o.i(0));
  Value magnitude = o.select(odd, cosineValue, sine);
  Value result = o.fromBits(o.xori(o.bits(magnitude), o.shl(o.andi(q, o.i(2)), o.i(30))));
  // Inf has no fraction: NaN. A zero keeps its sign, because n = 0 leaves r = x.
  Value zero = o.sub(x, x);
  return o.select(o.cmp(Pred::UNO, zero, zero), zero, result);
}

} // namespace gaudi::cpu
