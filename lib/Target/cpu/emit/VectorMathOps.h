//===- VectorMathOps.h - expression layer of the polynomials --------------===//
//
// Private to VectorMath*.cpp: writes scalar formulas that become code for f32 (WideOps: f64) or vectors of it, whatever
// `x` is.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

#include <cstdint>
#include <initializer_list>

namespace gaudi::cpu {

/// Formulas over values of the shape of one prototype value.
class VecOps {
public:
  using Value = mlir::Value;
  using Pred = mlir::arith::CmpFPredicate;

  VecOps(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type prototype) : b(builder), loc(loc), shape(prototype) {}

  /// The prototype's shape with another element type.
  mlir::Type typed(mlir::Type element) const {
    if (auto vec = llvm::dyn_cast<mlir::VectorType>(shape))
      return vec.cloneWith(std::nullopt, element);
    return element;
  }
  mlir::Type f32() const { return typed(b.getF32Type()); }
  mlir::Type i32() const { return typed(b.getI32Type()); }

  Value f(float value) { return constant(f32(), b.getF32FloatAttr(value)); }
  Value i(uint32_t value) { return constant(i32(), b.getI32IntegerAttr(int32_t(value))); }
  Value constant(mlir::Type type, mlir::TypedAttr scalar) {
    if (auto vec = llvm::dyn_cast<mlir::VectorType>(type))
      return make<mlir::arith::ConstantOp>(type, mlir::DenseElementsAttr::get(vec, mlir::Attribute(scalar)));
    return make<mlir::arith::ConstantOp>(type, scalar);
  }

  Value fma(Value x, Value y, Value z) { return make<mlir::math::FmaOp>(x, y, z); }
  Value add(Value x, Value y) { return make<mlir::arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return make<mlir::arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<mlir::arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return make<mlir::arith::DivFOp>(x, y); }
  Value neg(Value x) { return make<mlir::arith::NegFOp>(x); }
  Value abs(Value x) { return make<mlir::math::AbsFOp>(x); }
  Value copySign(Value magnitude, Value sign) { return make<mlir::math::CopySignOp>(magnitude, sign); }
  Value select(Value c, Value x, Value y) { return make<mlir::arith::SelectOp>(c, x, y); }
  Value cmp(Pred p, Value x, Value y) { return make<mlir::arith::CmpFOp>(p, x, y); }
  Value cmpi(mlir::arith::CmpIPredicate p, Value x, Value y) { return make<mlir::arith::CmpIOp>(p, x, y); }
  /// x if not below low, else low; a NaN x stays: the ordered compare of minps/maxps with x as the second operand.
  Value clampBelow(Value x, float low) { return select(cmp(Pred::OLT, x, f(low)), f(low), x); }
  Value clampAbove(Value x, float high) { return select(cmp(Pred::OGT, x, f(high)), f(high), x); }

  Value bits(Value x) { return make<mlir::arith::BitcastOp>(i32(), x); }
  Value fromBits(Value x) { return make<mlir::arith::BitcastOp>(f32(), x); }
  Value addi(Value x, Value y) { return make<mlir::arith::AddIOp>(x, y); }
  Value subi(Value x, Value y) { return make<mlir::arith::SubIOp>(x, y); }
  Value andi(Value x, Value y) { return make<mlir::arith::AndIOp>(x, y); }
  Value ori(Value x, Value y) { return make<mlir::arith::OrIOp>(x, y); }
  Value xori(Value x, Value y) { return make<mlir::arith::XOrIOp>(x, y); }
  Value shl(Value x, Value y) { return make<mlir::arith::ShLIOp>(x, y); }
  Value shr(Value x, Value y) { return make<mlir::arith::ShRUIOp>(x, y); }
  Value sar(Value x, Value y) { return make<mlir::arith::ShRSIOp>(x, y); }

  /// Horner; coefficients from the highest power down.
  Value poly(Value x, std::initializer_list<float> coefficients) {
    Value r;
    for (float c : coefficients)
      r = r ? fma(r, x, f(c)) : f(c);
    return r;
  }

  Value both(Value x, Value y) { return make<mlir::arith::AndIOp>(x, y); }
  Value either(Value x, Value y) { return make<mlir::arith::OrIOp>(x, y); }
  /// One bit: is any lane of the mask set.
  Value any(Value mask) {
    if (llvm::isa<mlir::VectorType>(mask.getType()))
      return make<mlir::vector::ReductionOp>(mlir::vector::CombiningKind::OR, mask);
    return mask;
  }

  template <typename Op, typename... Args> Value make(Args &&...args) {
    return Op::create(b, loc, std::forward<Args>(args)...);
  }

  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  mlir::Type shape;
};

/// The same in f64 and i64.
class WideOps : public VecOps {
public:
  using VecOps::VecOps;
  mlir::Type f64() const { return typed(b.getF64Type()); }
  mlir::Type i64() const { return typed(b.getI64Type()); }
  Value f(double value) { return constant(f64(), b.getF64FloatAttr(value)); }
  Value i(uint64_t value) { return constant(i64(), b.getI64IntegerAttr(static_cast<int64_t>(value))); }
  Value bits(Value x) { return make<mlir::arith::BitcastOp>(i64(), x); }
  Value fromBits(Value x) { return make<mlir::arith::BitcastOp>(f64(), x); }
  Value clampBelow(Value x, double low) { return select(cmp(Pred::OLT, x, f(low)), f(low), x); }
  Value clampAbove(Value x, double high) { return select(cmp(Pred::OGT, x, f(high)), f(high), x); }
  /// 2^n of integers n in [-1022, 1023].
  Value powerOfTwo(Value n) { return fromBits(shl(addi(n, i(1023)), i(52))); }
  /// Horner; coefficients from the highest power down.
  Value poly(Value x, llvm::ArrayRef<double> coefficients) {
    Value r = f(coefficients.front());
    for (double c : coefficients.drop_front())
      r = fma(r, x, f(c));
    return r;
  }
};

/// x = quadrant * pi/2 + rest, |rest| <= pi/4 (quadrant modulo 4, an integer of x's width).
struct QuarterTurns {
  mlir::Value rest, quadrant;
};

/// `fast`, but `large()` in the lanes of `huge`. Those are rare (no model of ours has any), so they hide behind a
/// branch.
QuarterTurns unlessHuge(VecOps &o, mlir::Value huge, const QuarterTurns &fast,
                        llvm::function_ref<QuarterTurns()> large);

// The families, one per file.
mlir::Value emitExp(VecOps &o, mlir::Value x);
mlir::Value emitLog(VecOps &o, mlir::Value x);
mlir::Value emitTanh(VecOps &o, mlir::Value x);
mlir::Value emitSigmoidTimes(VecOps &o, mlir::Value x, mlir::Value factor); ///< factor / (1 + exp(-x)); null factor = 1
mlir::Value emitErf(VecOps &o, mlir::Value x);
mlir::Value emitGelu(VecOps &o, mlir::Value x);
mlir::Value emitSoftplus(VecOps &o, mlir::Value x);
mlir::Value emitSinCos(VecOps &o, mlir::Value x, bool cosine);
mlir::Value emitPow(VecOps &o, mlir::Value x, mlir::Value y);

mlir::Value emitExp(WideOps &o, mlir::Value x, mlir::Value low = {}); ///< exp(x + low), |low| far below |x|
mlir::Value emitSinCos(WideOps &o, mlir::Value x, bool cosine);
mlir::Value emitPow(WideOps &o, mlir::Value x, mlir::Value y);
mlir::Value emitFmod(WideOps &o, mlir::Value x, mlir::Value y);

} // namespace gaudi::cpu
