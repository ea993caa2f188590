//===- ElementOps.cpp - pointwise ops on registers ------------------------===//
#include "lib/Target/cpu/emit/ElementOps.h"

#include "lib/Target/cpu/emit/VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

static bool is16BitFloat(Type element) { return element.isF16() || element.isBF16(); }
static bool isUnsigned(Type element) { return element.isUnsignedInteger() || element.isInteger(1); }
static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.cloneWith(std::nullopt, element);
  return element;
}
static Type scalarOf(Value v) { return getElementTypeOrSelf(v.getType()); }

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

Type cpu::storedType(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer ? IntegerType::get(element.getContext(), std::max(8u, integer.getWidth())) : element;
}

Type cpu::registerType(Type element, int64_t width) {
  if (is16BitFloat(element))
    element = Float32Type::get(element.getContext());
  else if (auto integer = dyn_cast<IntegerType>(element))
    element = IntegerType::get(element.getContext(), integer.getWidth());
  return width > 1 ? Type(VectorType::get({width}, element)) : element;
}

Value cpu::emitConstant(OpBuilder &b, Location loc, Type type, Attribute scalar) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vector, scalar));
  return arith::ConstantOp::create(b, loc, cast<TypedAttr>(scalar));
}

Value cpu::emitNumber(OpBuilder &b, Location loc, Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  if (isa<FloatType>(element))
    return emitConstant(b, loc, type, b.getFloatAttr(element, value));
  return emitConstant(b, loc, type, b.getIntegerAttr(element, static_cast<int64_t>(value)));
}

Value cpu::emitSplat(OpBuilder &b, Location loc, Value scalar, int64_t width) {
  return width > 1 ? Value(vector::BroadcastOp::create(b, loc, VectorType::get({width}, scalar.getType()), scalar))
                   : scalar;
}

Value cpu::emitWiden(OpBuilder &b, Location loc, Value stored, Type element) {
  if (is16BitFloat(element))
    return emitToF32(b, loc, stored);
  if (element.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, stored, emitNumber(b, loc, stored.getType(), 0));
  return stored;
}

Value cpu::emitNarrow(OpBuilder &b, Location loc, Value value, Type element) {
  if (is16BitFloat(element))
    return emitFromF32(b, loc, value, element);
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, loc, withElement(value.getType(), b.getI8Type()), value);
  return value;
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

static Value intUnary(OpBuilder &b, Location loc, UnaryKind kind, Value x, bool isUnsigned) {
  Value zero = emitNumber(b, loc, x.getType(), 0);
  switch (kind) {
  case UnaryKind::neg:
    return arith::SubIOp::create(b, loc, zero, x);
  case UnaryKind::abs:
    return isUnsigned ? x : arith::MaxSIOp::create(b, loc, x, arith::SubIOp::create(b, loc, zero, x)).getResult();
  case UnaryKind::relu:
    return isUnsigned ? x : arith::MaxSIOp::create(b, loc, x, zero).getResult();
  case UnaryKind::sign: {
    Value one = emitNumber(b, loc, x.getType(), 1);
    if (isUnsigned)
      return arith::MinUIOp::create(b, loc, x, one);
    return arith::MaxSIOp::create(b, loc, arith::MinSIOp::create(b, loc, x, one), emitNumber(b, loc, x.getType(), -1));
  }
  default:
    llvm_unreachable("kind has no integer meaning");
  }
}

/// The kinds that are exact or one instruction in f64; null for the others, which emitDoubleUnary has.
static Value doubleUnary(OpBuilder &b, Location loc, UnaryKind kind, Value x) {
  auto number = [&](double v) { return emitNumber(b, loc, x.getType(), v); };
  auto compare = [&](arith::CmpFPredicate p, Value y) { return arith::CmpFOp::create(b, loc, p, x, y).getResult(); };
  switch (kind) {
  case UnaryKind::neg:
    return arith::NegFOp::create(b, loc, x);
  case UnaryKind::abs:
    return math::AbsFOp::create(b, loc, x);
  case UnaryKind::sqrt:
    return math::SqrtOp::create(b, loc, x);
  case UnaryKind::rsqrt:
    return arith::DivFOp::create(b, loc, number(1), math::SqrtOp::create(b, loc, x));
  case UnaryKind::reciprocal:
    return arith::DivFOp::create(b, loc, number(1), x);
  case UnaryKind::relu:
    return arith::SelectOp::create(b, loc, compare(arith::CmpFPredicate::OLT, number(0)), number(0), x);
  case UnaryKind::floor:
    return math::FloorOp::create(b, loc, x);
  case UnaryKind::ceil:
    return math::CeilOp::create(b, loc, x);
  case UnaryKind::round:
    return math::RoundEvenOp::create(b, loc, x);
  case UnaryKind::sign: // zero and NaN are their own sign
    return arith::SelectOp::create(b, loc, compare(arith::CmpFPredicate::ONE, number(0)),
                                   math::CopySignOp::create(b, loc, number(1), x), x);
  case UnaryKind::is_nan:
    return compare(arith::CmpFPredicate::UNO, x);
  case UnaryKind::is_inf:
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, math::AbsFOp::create(b, loc, x),
                                 number(std::numeric_limits<double>::infinity()));
  default:
    return {};
  }
}

Value cpu::emitElementUnary(OpBuilder &b, Location loc, UnaryKind kind, Value x, Type element) {
  if (isa<IntegerType>(element) && kind != UnaryKind::logical_not)
    return intUnary(b, loc, kind, x, isUnsigned(element));
  if (!element.isF64())
    return emitUnary(b, loc, kind, x);
  if (Value y = doubleUnary(b, loc, kind, x))
    return y;
  return emitDoubleUnary(b, loc, kind, x);
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

static std::optional<arith::CmpIPredicate> comparison(BinaryKind kind, bool isUnsigned) {
  switch (kind) {
  case BinaryKind::eq:
    return arith::CmpIPredicate::eq;
  case BinaryKind::lt:
    return isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  case BinaryKind::le:
    return isUnsigned ? arith::CmpIPredicate::ule : arith::CmpIPredicate::sle;
  case BinaryKind::gt:
    return isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
  case BinaryKind::ge:
    return isUnsigned ? arith::CmpIPredicate::uge : arith::CmpIPredicate::sge;
  default:
    return std::nullopt;
  }
}

/// Division and remainder never trap: x/0 and x%0 give 0, INT_MIN/-1 wraps.
static Value safeDivide(OpBuilder &b, Location loc, BinaryKind kind, Value x, Value y, bool isUnsigned) {
  auto number = [&](int64_t v) { return emitNumber(b, loc, x.getType(), v); };
  auto cmp = [&](arith::CmpIPredicate p, Value l, Value r) {
    return arith::CmpIOp::create(b, loc, p, l, r).getResult();
  };
  auto pick = [&](Value c, Value l, Value r) { return arith::SelectOp::create(b, loc, c, l, r).getResult(); };
  Value zero = number(0), isZero = cmp(arith::CmpIPredicate::eq, y, zero);
  if (isUnsigned) {
    Value divisor = pick(isZero, number(1), y);
    Value r = kind == BinaryKind::div ? arith::DivUIOp::create(b, loc, x, divisor).getResult()
                                      : arith::RemUIOp::create(b, loc, x, divisor).getResult();
    return pick(isZero, zero, r);
  }
  Value isMinusOne = cmp(arith::CmpIPredicate::eq, y, number(-1));
  Value divisor = pick(arith::OrIOp::create(b, loc, isZero, isMinusOne), number(1), y);
  if (kind == BinaryKind::div) {
    Value r = pick(isMinusOne, arith::SubIOp::create(b, loc, zero, x), arith::DivSIOp::create(b, loc, x, divisor));
    return pick(isZero, zero, r);
  }
  Value r = arith::RemSIOp::create(b, loc, x, divisor); // 0 where the divisor was replaced by 1
  if (kind == BinaryKind::fmod)
    return r;
  Value differs = cmp(arith::CmpIPredicate::slt, arith::XOrIOp::create(b, loc, r, y), zero);
  Value adjust = arith::AndIOp::create(b, loc, differs, cmp(arith::CmpIPredicate::ne, r, zero));
  return pick(adjust, arith::AddIOp::create(b, loc, r, y), r);
}

/// Square and multiply over all bits of the exponent. Negative exponents: 1 and -1 have integer powers, the rest is 0.
static Value intPower(OpBuilder &b, Location loc, Value base, Value exponent, bool isUnsigned) {
  Type type = base.getType();
  auto number = [&](int64_t v) { return emitNumber(b, loc, type, v); };
  auto cmp = [&](arith::CmpIPredicate p, Value l, Value r) {
    return arith::CmpIOp::create(b, loc, p, l, r).getResult();
  };
  auto pick = [&](Value c, Value l, Value r) { return arith::SelectOp::create(b, loc, c, l, r).getResult(); };
  Value zero = number(0), one = number(1),
        isOdd = cmp(arith::CmpIPredicate::ne, arith::AndIOp::create(b, loc, exponent, one), zero);
  auto at = [&](int64_t v) { return arith::ConstantIndexOp::create(b, loc, v).getResult(); };
  auto loop = scf::ForOp::create(b, loc, at(0), at(getElementTypeOrSelf(type).getIntOrFloatBitWidth()), at(1),
                                 ValueRange{one, base, exponent});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value result = loop.getRegionIterArgs()[0], square = loop.getRegionIterArgs()[1],
          rest = loop.getRegionIterArgs()[2];
    Value bit = cmp(arith::CmpIPredicate::ne, arith::AndIOp::create(b, loc, rest, one), zero);
    result = pick(bit, arith::MulIOp::create(b, loc, result, square), result);
    scf::YieldOp::create(
        b, loc,
        ValueRange{result, arith::MulIOp::create(b, loc, square, square), arith::ShRUIOp::create(b, loc, rest, one)});
  }
  if (isUnsigned)
    return loop.getResult(0);
  Value minusOne = number(-1);
  Value ofMinusOne = pick(cmp(arith::CmpIPredicate::eq, base, minusOne), pick(isOdd, minusOne, one), zero);
  Value inverse = pick(cmp(arith::CmpIPredicate::eq, base, one), one, ofMinusOne);
  return pick(cmp(arith::CmpIPredicate::slt, exponent, zero), inverse, loop.getResult(0));
}

static Value intBinary(OpBuilder &b, Location loc, BinaryKind kind, Value x, Value y, bool isUnsigned) {
  if (auto predicate = comparison(kind, isUnsigned))
    return arith::CmpIOp::create(b, loc, *predicate, x, y);
  switch (kind) {
  case BinaryKind::add:
    return arith::AddIOp::create(b, loc, x, y);
  case BinaryKind::sub:
    return arith::SubIOp::create(b, loc, x, y);
  case BinaryKind::mul:
    return arith::MulIOp::create(b, loc, x, y);
  case BinaryKind::min:
    return isUnsigned ? arith::MinUIOp::create(b, loc, x, y).getResult()
                      : arith::MinSIOp::create(b, loc, x, y).getResult();
  case BinaryKind::max:
    return isUnsigned ? arith::MaxUIOp::create(b, loc, x, y).getResult()
                      : arith::MaxSIOp::create(b, loc, x, y).getResult();
  case BinaryKind::div:
  case BinaryKind::mod:
  case BinaryKind::fmod:
    return safeDivide(b, loc, kind, x, y, isUnsigned);
  case BinaryKind::pow:
    return intPower(b, loc, x, y, isUnsigned);
  case BinaryKind::logical_and:
  case BinaryKind::bit_and:
    return arith::AndIOp::create(b, loc, x, y);
  case BinaryKind::logical_or:
  case BinaryKind::bit_or:
    return arith::OrIOp::create(b, loc, x, y);
  case BinaryKind::logical_xor:
  case BinaryKind::bit_xor:
    return arith::XOrIOp::create(b, loc, x, y);
  default:
    llvm_unreachable("comparison");
  }
}

/// Arithmetic and comparisons of f64; null for pow and fmod.
static Value doubleBinary(OpBuilder &b, Location loc, BinaryKind kind, Value x, Value y) {
  switch (kind) {
  case BinaryKind::add:
    return arith::AddFOp::create(b, loc, x, y);
  case BinaryKind::sub:
    return arith::SubFOp::create(b, loc, x, y);
  case BinaryKind::mul:
    return arith::MulFOp::create(b, loc, x, y);
  case BinaryKind::div:
    return arith::DivFOp::create(b, loc, x, y);
  case BinaryKind::min:
    return arith::MinimumFOp::create(b, loc, x, y);
  case BinaryKind::max:
    return arith::MaximumFOp::create(b, loc, x, y);
  case BinaryKind::eq:
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, y);
  case BinaryKind::lt:
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, y);
  case BinaryKind::le:
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, x, y);
  case BinaryKind::gt:
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y);
  case BinaryKind::ge:
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, x, y);
  default:
    return {};
  }
}

Value cpu::emitElementBinary(OpBuilder &b, Location loc, BinaryKind kind, Value x, Value y, Type element,
                             Type rhsElement) {
  if (isa<IntegerType>(element) && element == rhsElement)
    return intBinary(b, loc, kind, x, y, isUnsigned(element));
  if (scalarOf(x).isF32() && scalarOf(y).isF32())
    return emitBinary(b, loc, kind, x, y);
  if (element.isF64() && rhsElement.isF64())
    if (Value r = doubleBinary(b, loc, kind, x, y))
      return r;
  // fmod of f64, and pow of f64 or of two types, which f32 would not hold: in f64, then to the left operand's type.
  Type wide = withElement(x.getType(), b.getF64Type());
  auto widen = [&](Value v, Type from) {
    if (!is16BitFloat(from)) // kept as f32
      return emitElementCast(b, loc, v, from, b.getF64Type());
    return arith::ExtFOp::create(b, loc, wide, v).getResult();
  };
  Value r = emitDoubleBinary(b, loc, kind, widen(x, element), widen(y, rhsElement));
  return emitElementCast(b, loc, r, b.getF64Type(), is16BitFloat(element) ? b.getF32Type() : element);
}

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

/// Float -> integer: toward zero, saturates, NaN -> 0.
static Value saturatingCast(OpBuilder &b, Location loc, Value x, Type target, bool isUnsigned) {
  unsigned bits = getElementTypeOrSelf(target).getIntOrFloatBitWidth();
  Type type = x.getType();
  double high = std::ldexp(1.0, isUnsigned ? bits : bits - 1), low = isUnsigned ? 0 : -high;
  auto integer = [&](const APInt &v) {
    return emitConstant(b, loc, target, b.getIntegerAttr(getElementTypeOrSelf(target), v));
  };
  auto compare = [&](arith::CmpFPredicate p, double v) {
    return arith::CmpFOp::create(b, loc, p, x, emitNumber(b, loc, type, v)).getResult();
  };
  Value below = compare(arith::CmpFPredicate::OLE, low), above = compare(arith::CmpFPredicate::OGE, high);
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  Value outside = arith::OrIOp::create(b, loc, isNan, arith::OrIOp::create(b, loc, below, above));
  Value safe = arith::SelectOp::create(b, loc, outside, emitNumber(b, loc, type, 0), x);
  Value r = isUnsigned ? arith::FPToUIOp::create(b, loc, target, safe).getResult()
                       : arith::FPToSIOp::create(b, loc, target, safe).getResult();
  APInt most = isUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits);
  APInt least = isUnsigned ? APInt::getMinValue(bits) : APInt::getSignedMinValue(bits);
  r = arith::SelectOp::create(b, loc, above, integer(most), r);
  return arith::SelectOp::create(b, loc, below, integer(least), r);
}

static Value floatCast(OpBuilder &b, Location loc, Value x, Type to) {
  if (is16BitFloat(to)) { // round now: later ops must see the narrow value
    Value narrow = scalarOf(x).isF64() ? arith::TruncFOp::create(b, loc, withElement(x.getType(), to), x).getResult()
                                       : emitFromF32(b, loc, x, to);
    return emitToF32(b, loc, narrow);
  }
  Type target = withElement(x.getType(), to);
  if (x.getType() == target)
    return x;
  return to.isF64() ? arith::ExtFOp::create(b, loc, target, x).getResult()
                    : arith::TruncFOp::create(b, loc, target, x).getResult();
}

Value cpu::emitElementCast(OpBuilder &b, Location loc, Value x, Type from, Type to) {
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  Type target = withElement(x.getType(), registerType(to, 1));
  if (to.isInteger(1)) {
    Value zero = emitNumber(b, loc, x.getType(), 0);
    if (fromFloat)
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, zero);
    return from.isInteger(1) ? x : arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, zero).getResult();
  }
  if (fromFloat)
    return toFloat ? floatCast(b, loc, x, to) : saturatingCast(b, loc, x, target, to.isUnsignedInteger());
  if (toFloat) {
    // 64-bit integers go to 16 bits through f64, as in the evaluator; f32 would round twice.
    Type via = is16BitFloat(to) ? b.getF64Type() : to;
    Type type = withElement(x.getType(), via);
    Value wide = isUnsigned(from) ? arith::UIToFPOp::create(b, loc, type, x).getResult()
                                  : arith::SIToFPOp::create(b, loc, type, x).getResult();
    return floatCast(b, loc, wide, to);
  }
  unsigned narrowBits = from.getIntOrFloatBitWidth(), wideBits = to.getIntOrFloatBitWidth();
  if (narrowBits == wideBits)
    return x;
  if (narrowBits > wideBits)
    return arith::TruncIOp::create(b, loc, target, x);
  return isUnsigned(from) ? arith::ExtUIOp::create(b, loc, target, x).getResult()
                          : arith::ExtSIOp::create(b, loc, target, x).getResult();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value cpu::emitReduceStep(OpBuilder &b, Location loc, ReduceKind kind, Value acc, Value x, Type element) {
  bool isFloat = isa<FloatType>(element);
  auto combine = [&](BinaryKind k, Value l, Value r) -> Value {
    return isFloat ? doubleBinary(b, loc, k, l, r) : intBinary(b, loc, k, l, r, isUnsigned(element));
  };
  switch (kind) {
  case ReduceKind::sum:
  case ReduceKind::mean:
    return combine(BinaryKind::add, acc, x);
  case ReduceKind::sumsq:
    return combine(BinaryKind::add, acc, combine(BinaryKind::mul, x, x));
  case ReduceKind::prod:
    return combine(BinaryKind::mul, acc, x);
  case ReduceKind::max:
    return combine(BinaryKind::max, acc, x);
  case ReduceKind::min:
    return combine(BinaryKind::min, acc, x);
  }
  llvm_unreachable("covered switch");
}

TypedAttr cpu::reduceIdentity(ReduceKind kind, Type element) {
  Type type = registerType(element, 1);
  Builder b(element.getContext());
  bool isMax = kind == ReduceKind::max, isMin = kind == ReduceKind::min;
  if (auto f = dyn_cast<FloatType>(type)) {
    double inf = std::numeric_limits<double>::infinity();
    return b.getFloatAttr(f, isMax ? -inf : isMin ? inf : kind == ReduceKind::prod ? 1 : 0);
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  APInt v(bits, kind == ReduceKind::prod ? 1 : 0);
  if (isMax)
    v = isUnsigned(element) ? APInt::getMinValue(bits) : APInt::getSignedMinValue(bits);
  if (isMin)
    v = isUnsigned(element) ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits);
  return b.getIntegerAttr(type, v);
}

Value cpu::emitReduceEnd(OpBuilder &b, Location loc, ReduceKind kind, Value acc, int64_t count, Type element) {
  if (kind != ReduceKind::mean)
    return acc;
  Value n = emitNumber(b, loc, acc.getType(), static_cast<double>(count));
  if (isa<FloatType>(element))
    return arith::DivFOp::create(b, loc, acc, n);
  return intBinary(b, loc, BinaryKind::div, acc, n, isUnsigned(element));
}
