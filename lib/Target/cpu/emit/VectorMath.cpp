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

/// Exact remainder in f64: subtracts multiples of |y| 2^250, |y| 2^200, ... |y|. Every quotient is below 2^53, so its
/// product is exact in the fma, and a quotient that rounded up shows as a negative rest.
static Value emitFmod(VecOps &o, Value x, Value y) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  Type f64 = o.typed(o.b.getF64Type());
  auto wide = [&](double v) { return o.constant(f64, o.b.getF64FloatAttr(v)); };
  Value r = o.make<arith::ExtFOp>(f64, o.abs(x)), divisor = o.make<arith::ExtFOp>(f64, o.abs(y));
  for (double scale : {0x1p250, 0x1p200, 0x1p150, 0x1p100, 0x1p50, 1.0}) {
    Value t = o.mul(divisor, wide(scale));
    r = o.fma(o.neg(o.make<math::TruncOp>(o.div(r, t))), t, r);
    r = o.select(o.cmp(Pred::OLT, r, wide(0)), o.add(r, t), r);
  }
  Value result = o.copySign(o.make<arith::TruncFOp>(o.f32(), r), x);
  // A finite x against an infinite y stays; 0 and infinite x already gave NaN.
  Value keep = o.make<arith::AndIOp>(o.cmp(Pred::OEQ, o.abs(y), o.f(inf)), o.cmp(Pred::OLT, o.abs(x), o.f(inf)));
  return o.select(keep, x, result);
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
  case BinaryKind::mod:
  case BinaryKind::bit_and:
  case BinaryKind::bit_or:
  case BinaryKind::bit_xor:
    break;
  }
  llvm_unreachable("mod and bit operations want integers");
}

} // namespace gaudi::cpu
