//===- Elementwise.cpp - meaning of the pointwise kinds -------------------===//
//
// One expression per row of Elementwise.td, in double for floats and in int64 (wrapping) for integers.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

#include "mlir/IR/PatternMatch.h"

#include <cmath>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

static bool isPredicate(UnaryKind kind) {
  return kind == UnaryKind::logical_not || kind == UnaryKind::is_nan || kind == UnaryKind::is_inf;
}
static bool worksOnInts(UnaryKind kind) {
  return kind == UnaryKind::neg || kind == UnaryKind::abs || kind == UnaryKind::sign || kind == UnaryKind::relu;
}
static bool isComparison(BinaryKind kind) { return kind >= BinaryKind::eq && kind <= BinaryKind::ge; }
static bool isLogical(BinaryKind kind) { return kind >= BinaryKind::logical_and && kind <= BinaryKind::logical_xor; }
static bool isBitwise(BinaryKind kind) { return kind >= BinaryKind::bit_and; }

static double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

static double evalFloat(UnaryKind kind, double x) {
  constexpr double sqrtHalf = 0.70710678118654752440, sqrt2OverPi = 0.79788456080286535588;
  switch (kind) {
  case UnaryKind::neg: return -x;
  case UnaryKind::abs: return std::fabs(x);
  case UnaryKind::sqrt: return std::sqrt(x);
  case UnaryKind::rsqrt: return 1 / std::sqrt(x);
  case UnaryKind::reciprocal: return 1 / x;
  case UnaryKind::exp: return std::exp(x);
  case UnaryKind::log: return std::log(x);
  case UnaryKind::sin: return std::sin(x);
  case UnaryKind::cos: return std::cos(x);
  case UnaryKind::tanh: return std::tanh(x);
  case UnaryKind::sigmoid: return sigmoid(x);
  case UnaryKind::erf: return std::erf(x);
  case UnaryKind::relu: return x < 0 ? 0 : x; // NaN stays
  case UnaryKind::floor: return std::floor(x);
  case UnaryKind::ceil: return std::ceil(x);
  case UnaryKind::round: return std::nearbyint(x); // default mode: half to even
  case UnaryKind::sign: return std::isnan(x) ? x : (x > 0) - (x < 0);
  case UnaryKind::is_nan: return std::isnan(x);
  case UnaryKind::is_inf: return std::isinf(x);
  // 0 * inf at x = -inf would give NaN; the limit is 0.
  case UnaryKind::gelu: return std::isinf(x) && x < 0 ? 0 : 0.5 * x * std::erfc(-x * sqrtHalf);
  case UnaryKind::gelu_tanh:
    return std::isinf(x) && x < 0 ? 0 : 0.5 * x * (1 + std::tanh(sqrt2OverPi * (x + 0.044715 * x * x * x)));
  case UnaryKind::silu: return std::isinf(x) && x < 0 ? 0 : x * sigmoid(x);
  case UnaryKind::softplus: return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  case UnaryKind::logical_not: break;
  }
  llvm_unreachable("kind has no float meaning");
}

static int64_t evalInt(UnaryKind kind, int64_t x) {
  switch (kind) {
  case UnaryKind::neg: return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  case UnaryKind::abs: return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x;
  case UnaryKind::sign: return (x > 0) - (x < 0);
  case UnaryKind::relu: return x < 0 ? 0 : x;
  case UnaryKind::logical_not: return x == 0;
  default: llvm_unreachable("kind has no integer meaning");
  }
}

static double minOrMax(double a, double b, bool wantMax) {
  if (std::isnan(a) || std::isnan(b))
    return std::nan("");
  return wantMax ? std::fmax(a, b) : std::fmin(a, b);
}

static double evalFloat(BinaryKind kind, double a, double b) {
  switch (kind) {
  case BinaryKind::add: return a + b;
  case BinaryKind::sub: return a - b;
  case BinaryKind::mul: return a * b;
  case BinaryKind::div: return a / b;
  case BinaryKind::pow: return std::pow(a, b);
  case BinaryKind::mod: {
    double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  case BinaryKind::fmod: return std::fmod(a, b);
  case BinaryKind::min: return minOrMax(a, b, false);
  case BinaryKind::max: return minOrMax(a, b, true);
  case BinaryKind::eq: return a == b;
  case BinaryKind::lt: return a < b;
  case BinaryKind::le: return a <= b;
  case BinaryKind::gt: return a > b;
  case BinaryKind::ge: return a >= b;
  default: llvm_unreachable("kind has no float meaning");
  }
}

static int64_t intPow(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (uint64_t e = exponent; e; e >>= 1, square *= square)
    if (e & 1)
      result *= square;
  return static_cast<int64_t>(result);
}

static int64_t intDiv(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b; // INT64_MIN / -1 traps
}

static int64_t intRem(int64_t a, int64_t b, bool signOfDivisor) {
  if (b == 0 || b == -1)
    return 0;
  int64_t r = a % b;
  return signOfDivisor && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t evalInt(BinaryKind kind, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (kind) {
  case BinaryKind::add: return static_cast<int64_t>(ua + ub);
  case BinaryKind::sub: return static_cast<int64_t>(ua - ub);
  case BinaryKind::mul: return static_cast<int64_t>(ua * ub);
  case BinaryKind::div: return intDiv(a, b);
  case BinaryKind::pow: return intPow(a, b);
  case BinaryKind::mod: return intRem(a, b, true);
  case BinaryKind::fmod: return intRem(a, b, false);
  case BinaryKind::min: return std::min(a, b);
  case BinaryKind::max: return std::max(a, b);
  case BinaryKind::logical_and: return a && b;
  case BinaryKind::logical_or: return a || b;
  case BinaryKind::logical_xor: return !a != !b;
  case BinaryKind::eq: return a == b;
  case BinaryKind::lt: return a < b;
  case BinaryKind::le: return a <= b;
  case BinaryKind::gt: return a > b;
  case BinaryKind::ge: return a >= b;
  case BinaryKind::bit_and: return a & b;
  case BinaryKind::bit_or: return a | b;
  case BinaryKind::bit_xor: return a ^ b;
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// unary
//===----------------------------------------------------------------------===//

LogicalResult UnaryOp::inferReturnTypes(MLIRContext *context, OptionalLoc loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  UnaryKind kind = adaptor.getKind();
  Type element = type.getElementType();
  bool isBool = element.isInteger(1);
  bool fits = kind == UnaryKind::logical_not ? isBool : isa<FloatType>(element) || (worksOnInts(kind) && !isBool);
  if (!fits) // C1
    return emitOptionalError(loc, "kind '", stringifyUnaryKind(kind), "' does not take element type ", element);
  results.push_back(isPredicate(kind) ? type.clone(IntegerType::get(context, 1)) : type);
  return success();
}

LogicalResult UnaryOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor out = HostTensor::zeros(x.type().clone(elementOf(getResult())));
  for (int64_t i = 0, n = x.elementCount(); i < n; ++i) {
    if (x.isFloat() && out.isFloat())
      out.floats()[i] = evalFloat(getKind(), x.floats()[i]);
    else
      out.ints()[i] = x.isFloat() ? evalFloat(getKind(), x.floats()[i]) != 0 : evalInt(getKind(), x.ints()[i]);
  }
  out.round();
  results.push_back(std::move(out));
  return success();
}

//===----------------------------------------------------------------------===//
// binary
//===----------------------------------------------------------------------===//

LogicalResult BinaryOp::inferReturnTypes(MLIRContext *context, OptionalLoc loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  BinaryKind kind = adaptor.getKind();
  Type lhs = elementOf(adaptor.getLhs()), rhs = elementOf(adaptor.getRhs());
  if (lhs != rhs && kind != BinaryKind::pow) // C1
    return emitOptionalError(loc, "operand types differ (", lhs, ", ", rhs, ")");
  bool isFloat = isa<FloatType>(lhs), isBool = lhs.isInteger(1);
  bool fits = isLogical(kind) ? isBool : isBitwise(kind) ? !isFloat : !isBool || kind == BinaryKind::eq;
  if (!fits)
    return emitOptionalError(loc, "kind '", stringifyBinaryKind(kind), "' does not take element type ", lhs);
  Dims dims;
  if (failed(broadcastDims(loc, dimsOf(adaptor.getLhs()), dimsOf(adaptor.getRhs()), dims))) // C2
    return failure();
  Type element = isComparison(kind) ? IntegerType::get(context, 1) : lhs;
  results.push_back(RankedTensorType::get(dims, element));
  return success();
}

LogicalResult BinaryOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &a = operands[0], &b = operands[1];
  Dims dims;
  if (failed(broadcastDims(getLoc(), a.shape, b.shape, dims)))
    return failure();
  HostTensor out = HostTensor::zeros(RankedTensorType::get(dims, elementOf(getResult())));
  BroadcastIndex indexA(a.shape, dims), indexB(b.shape, dims);
  bool mixed = a.isFloat() || b.isFloat();
  for (int64_t i = 0, n = out.elementCount(); i < n; ++i, indexA.next(), indexB.next()) {
    if (mixed) {
      double value = evalFloat(getKind(), a.asDouble(indexA.offset), b.asDouble(indexB.offset));
      out.setDouble(i, value);
    } else
      out.ints()[i] = evalInt(getKind(), a.ints()[indexA.offset], b.ints()[indexB.offset]);
  }
  out.round();
  results.push_back(std::move(out));
  return success();
}

namespace {

/// Value of a splat constant (any float or integer type).
std::optional<double> splatValue(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)))
    return std::nullopt;
  HostTensor t = HostTensor::fromElements(cast<ElementsAttr>(splat.resizeSplat(
      RankedTensorType::get({}, splat.getElementType()))));
  return t.asDouble(0);
}

/// x*1, x/1, x-0, pow(x,1), and x + (-0.0): the ones that are exact for every x, including -0 and NaN. x + 0.0 is not
/// (it turns -0 into +0).
struct DropNeutralOperand : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    for (bool swapped : {false, true}) {
      Value x = swapped ? op.getRhs() : op.getLhs(), c = swapped ? op.getLhs() : op.getRhs();
      std::optional<double> value = splatValue(c);
      if (value && x.getType() == op.getType() && isNeutral(op.getKind(), *value, swapped, isa<FloatType>(elementOf(x)))) {
        rewriter.replaceOp(op, x);
        return success();
      }
    }
    return failure();
  }

  static bool isNeutral(BinaryKind kind, double c, bool onLeft, bool isFloat) {
    switch (kind) {
    case BinaryKind::mul: return c == 1;
    case BinaryKind::div:
    case BinaryKind::pow: return !onLeft && c == 1;
    case BinaryKind::add: return c == 0 && (!isFloat || std::signbit(c));
    case BinaryKind::sub: return !onLeft && c == 0 && (!isFloat || !std::signbit(c));
    default: return false;
    }
  }
};

} // namespace

void BinaryOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropNeutralOperand>(context);
}

//===----------------------------------------------------------------------===//
// select, cast
//===----------------------------------------------------------------------===//

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Type a = elementOf(adaptor.getOnTrue()), b = elementOf(adaptor.getOnFalse());
  if (a != b)
    return emitOptionalError(loc, "operand types differ (", a, ", ", b, ")");
  Dims values, dims;
  if (failed(broadcastDims(loc, dimsOf(adaptor.getOnTrue()), dimsOf(adaptor.getOnFalse()), values)) ||
      failed(broadcastDims(loc, dimsOf(adaptor.getCondition()), values, dims)))
    return failure();
  results.push_back(RankedTensorType::get(dims, a));
  return success();
}

LogicalResult SelectOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  Dims values, dims;
  if (failed(broadcastDims(getLoc(), operands[1].shape, operands[2].shape, values)) ||
      failed(broadcastDims(getLoc(), operands[0].shape, values, dims)))
    return failure();
  HostTensor out = HostTensor::zeros(RankedTensorType::get(dims, elementOf(getResult())));
  BroadcastIndex c(operands[0].shape, dims), t(operands[1].shape, dims), f(operands[2].shape, dims);
  for (int64_t i = 0, n = out.elementCount(); i < n; ++i, c.next(), t.next(), f.next()) {
    bool condition = operands[0].ints()[c.offset];
    out.copyElement(i, condition ? operands[1] : operands[2], condition ? t.offset : f.offset);
  }
  results.push_back(std::move(out));
  return success();
}

LogicalResult CastOp::inferReturnTypes(MLIRContext *, OptionalLoc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  results.push_back(tensorType(adaptor.getInput()).clone(adaptor.getTo()));
  return success();
}

/// Truncates toward zero, saturates, NaN -> 0.
static int64_t saturate(double x, Type type) {
  if (std::isnan(x))
    return 0;
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1)
    return x != 0;
  bool isUnsigned = type.isUnsignedInteger();
  double low = isUnsigned ? 0 : -std::ldexp(1.0, width - 1), high = std::ldexp(1.0, isUnsigned ? width : width - 1);
  if (x <= low)
    return isUnsigned ? 0 : width == 64 ? INT64_MIN : static_cast<int64_t>(low);
  if (x >= high)
    return width == 64 ? (isUnsigned ? -1 : INT64_MAX) : static_cast<int64_t>(high - 1);
  return isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(x)) : static_cast<int64_t>(x);
}

LogicalResult CastOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor out = HostTensor::zeros(x.type().clone(getTo()));
  bool toBool = getTo().isInteger(1);
  for (int64_t i = 0, n = x.elementCount(); i < n; ++i) {
    if (out.isFloat())
      out.floats()[i] = x.asDouble(i);
    else if (x.isFloat())
      out.ints()[i] = toBool ? x.floats()[i] != 0 : saturate(x.floats()[i], getTo());
    else
      out.ints()[i] = toBool ? x.ints()[i] != 0 : x.ints()[i];
  }
  out.round();
  results.push_back(std::move(out));
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : Value();
}
