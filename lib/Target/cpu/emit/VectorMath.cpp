//===- VectorMath.cpp - from a kind to code -------------------------------===//
#include "lib/Target/cpu/emit/VectorMath.h"
#include "lib/Target/cpu/emit/VectorMathOps.h"

#include <limits>

using namespace mlir;

namespace gaudi::cpu {

using Pred = VecOps::Pred;
using graph::BinaryKind;
using graph::UnaryKind;

static Value emitSign(VecOps &o, Value x) {
  Value one = o.copySign(o.f(1.f), x);
  // 0, -0 and NaN are their own sign.
  return o.select(o.cmp(Pred::ONE, x, o.f(0.f)), one, x);
}

/// x / (1 + exp(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3): the tanh form without its cancellation.
static Value emitGeluTanh(VecOps &o, Value x) {
  // The cubic overflows beyond 1e12 and -inf * 0 is NaN: clamp what feeds it. gelu_tanh(-11) is under 1e-48.
  Value c = o.clampBelow(x, -11.f);
  Value s = o.clampAbove(c, 11.f);
  Value u = o.mul(s, o.fma(o.mul(s, s), o.f(2.f * 0.7978845608f * 0.044715f), o.f(2.f * 0.7978845608f)));
  return emitSigmoidTimes(o, u, c);
}

Value emitUnary(OpBuilder &builder, Location loc, UnaryKind kind, Value x) {
  VecOps o(builder, loc, x.getType());
  switch (kind) {
  case UnaryKind::neg:
    return o.neg(x);
  case UnaryKind::abs:
    return o.abs(x);
  case UnaryKind::sqrt:
    return o.make<math::SqrtOp>(x);
  case UnaryKind::rsqrt:
    return o.div(o.f(1.f), o.make<math::SqrtOp>(x));
  case UnaryKind::reciprocal:
    return o.div(o.f(1.f), x);
  case UnaryKind::exp:
    return emitExp(o, x);
  case UnaryKind::log:
    return emitLog(o, x);
  case UnaryKind::sin:
    return emitSinCos(o, x, /*cosine=*/false);
  case UnaryKind::cos:
    return emitSinCos(o, x, /*cosine=*/true);
  case UnaryKind::tanh:
    return emitTanh(o, x);
  case UnaryKind::sigmoid:
    return emitSigmoidTimes(o, x, {});
  case UnaryKind::erf:
    return emitErf(o, x);
  case UnaryKind::relu: // NaN stays: the compare is false
    return o.select(o.cmp(Pred::OLT, x, o.f(0.f)), o.f(0.f), x);
  case UnaryKind::floor:
    return o.make<math::FloorOp>(x);
  case UnaryKind::ceil:
    return o.make<math::CeilOp>(x);
  case UnaryKind::round:
    return o.make<math::RoundEvenOp>(x);
  case UnaryKind::sign:
    return emitSign(o, x);
  case UnaryKind::logical_not:
    return o.xori(x, o.constant(x.getType(), builder.getBoolAttr(true)));
  case UnaryKind::is_nan:
    return o.cmp(Pred::UNO, x, x);
  case UnaryKind::is_inf:
    return o.cmp(Pred::OEQ, o.abs(x), o.f(std::numeric_limits<float>::infinity()));
  case UnaryKind::gelu:
    return emitGelu(o, x);
  case UnaryKind::gelu_tanh:
    return emitGeluTanh(o, x);
  case UnaryKind::silu:
    return emitSigmoidTimes(o, x, o.clampBelow(x, -200.f)); // -inf * 0 would be NaN; exp(-200) is 0
  case UnaryKind::softplus:
    return emitSoftplus(o, x);
  }
  llvm_unreachable("unknown unary kind");
}

/// Remainder through f64: exact while |x / y| < 2^53, which covers quotients that f32 can tell apart.
static Value emitFmod(VecOps &o, Value x, Value y) {
  Type f64 = o.typed(o.b.getF64Type());
  Value wx = o.make<arith::ExtFOp>(f64, x), wy = o.make<arith::ExtFOp>(f64, y);
  Value q = o.make<math::TruncOp>(o.div(wx, wy));
  Value r = o.fma(o.neg(q), wy, wx); // one rounding: exact when representable
  Value narrow = o.copySign(o.make<arith::TruncFOp>(o.f32(), r), x);
  // The quotient may round up to the next integer: then r has the wrong sign, one |y| away.
  Value zero = o.constant(f64, o.b.getF64FloatAttr(0.0));
  Value wrong = o.cmp(Pred::OLT, o.mul(r, wx), zero);
  Value mended = o.make<arith::TruncFOp>(o.f32(), o.add(r, o.copySign(wy, wx)));
  Value result = o.select(wrong, mended, narrow);
  // x fmod inf = x for finite x; 0/0 and inf give NaN through the division.
  Value toInf = o.make<arith::AndIOp>(o.cmp(Pred::OEQ, o.abs(y), o.f(std::numeric_limits<float>::infinity())),
                                      o.cmp(Pred::ONE, o.abs(x), o.f(std::numeric_limits<float>::infinity())));
  return o.select(toInf, x, result);
}

static Value emitMod(VecOps &o, Value x, Value y) {
  Value r = emitFmod(o, x, y);
  Value differs = o.cmpi(arith::CmpIPredicate::slt, o.xori(o.bits(r), o.bits(y)), o.i(0));
  Value move = o.make<arith::AndIOp>(differs, o.cmp(Pred::ONE, r, o.f(0.f)));
  return o.select(move, o.add(r, y), r);
}

Value emitBinary(OpBuilder &builder, Location loc, BinaryKind kind, Value lhs, Value rhs) {
  VecOps o(builder, loc, lhs.getType());
  switch (kind) {
  case BinaryKind::add:
    return o.add(lhs, rhs);
  case BinaryKind::sub:
    return o.sub(lhs, rhs);
  case BinaryKind::mul:
    return o.mul(lhs, rhs);
  case BinaryKind::div:
    return o.div(lhs, rhs);
  case BinaryKind::pow:
    return emitPow(o, lhs, rhs);
  case BinaryKind::mod:
    return emitMod(o, lhs, rhs);
  case BinaryKind::fmod:
    return emitFmod(o, lhs, rhs);
  case BinaryKind::min: // minps returns its second operand for a NaN: one more select keeps a NaN lhs
    return o.select(o.cmp(Pred::UNO, lhs, lhs), lhs, o.select(o.cmp(Pred::OLT, lhs, rhs), lhs, rhs));
  case BinaryKind::max:
    return o.select(o.cmp(Pred::UNO, lhs, lhs), lhs, o.select(o.cmp(Pred::OGT, lhs, rhs), lhs, rhs));
  case BinaryKind::logical_and:
    return o.make<arith::AndIOp>(lhs, rhs);
  case BinaryKind::logical_or:
    return o.make<arith::OrIOp>(lhs, rhs);
  case BinaryKind::logical_xor:
    return o.make<arith::XOrIOp>(lhs, rhs);
  case BinaryKind::eq:
    return o.cmp(Pred::OEQ, lhs, rhs);
  case BinaryKind::lt:
    return o.cmp(Pred::OLT, lhs, rhs);
  case BinaryKind::le:
    return o.cmp(Pred::OLE, lhs, rhs);
  case BinaryKind::gt:
    return o.cmp(Pred::OGT, lhs, rhs);
  case BinaryKind::ge:
    return o.cmp(Pred::OGE, lhs, rhs);
  case BinaryKind::bit_and:
  case BinaryKind::bit_or:
  case BinaryKind::bit_xor:
    break;
  }
  llvm_unreachable("bit operations want integers");
}

} // namespace gaudi::cpu
