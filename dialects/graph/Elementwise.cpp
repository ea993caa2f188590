//===- Elementwise.cpp - meaning of the pointwise kinds -------------------===//
//
// One expression per row of Elementwise.td, in double for floats and in int64 (wrapping) for integers.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/bit.h"

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

/// The kinds that differ for ui64, which lives wrapped in int64; nullopt for the others.
static std::optional<int64_t> evalUnsigned64(BinaryKind kind, uint64_t a, uint64_t b) {
  switch (kind) {
  case BinaryKind::div: return b ? static_cast<int64_t>(a / b) : 0;
  case BinaryKind::mod:
  case BinaryKind::fmod: return b ? static_cast<int64_t>(a % b) : 0;
  case BinaryKind::min: return static_cast<int64_t>(std::min(a, b));
  case BinaryKind::max: return static_cast<int64_t>(std::max(a, b));
  case BinaryKind::lt: return a < b;
  case BinaryKind::le: return a <= b;
  case BinaryKind::gt: return a > b;
  case BinaryKind::ge: return a >= b;
  default: return std::nullopt;
  }
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
  return addResult(loc, type.getShape(), isPredicate(kind) ? IntegerType::get(context, 1) : element, results);
}

LogicalResult UnaryOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  UnaryKind kind = getKind();
  FailureOr<HostTensor> out = allocate(*this, x.shape, elementOf(getResult()));
  if (failed(out))
    return failure();
  if (out->isFloat())
    llvm::transform(x.floats(), out->floats().begin(), [&](double v) { return evalFloat(kind, v); });
  else if (x.isFloat())
    llvm::transform(x.floats(), out->ints().begin(), [&](double v) { return evalFloat(kind, v) != 0; });
  else
    llvm::transform(x.ints(), out->ints().begin(), [&](int64_t v) { return evalInt(kind, v); });
  return finish(std::move(*out), results);
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
  bool fits = isLogical(kind)           ? isBool
              : isBitwise(kind)         ? !isFloat
              : kind == BinaryKind::mod ? !isFloat && !isBool
              : kind == BinaryKind::eq  ? true
                                        : !isBool && !rhs.isInteger(1);
  if (!fits)
    return emitOptionalError(loc, "kind '", stringifyBinaryKind(kind), "' does not take element type ", lhs);
  Dims dims;
  if (failed(broadcastDims(loc, dimsOf(adaptor.getLhs()), dimsOf(adaptor.getRhs()), dims))) // C2
    return failure();
  return addResult(loc, dims, isComparison(kind) ? IntegerType::get(context, 1) : lhs, results);
}

/// Operands of different types (pow) or floats: in double.
static double evalMixed(BinaryKind kind, const HostTensor &a, int64_t i, const HostTensor &b, int64_t j) {
  return evalFloat(kind, a.asDouble(i), b.asDouble(j));
}

LogicalResult BinaryOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &a = operands[0], &b = operands[1];
  BinaryKind kind = getKind();
  Dims dims;
  if (failed(broadcastDims(getLoc(), a.shape, b.shape, dims)))
    return failure();
  FailureOr<HostTensor> out = allocate(*this, dims, elementOf(getResult()));
  if (failed(out))
    return failure();
  auto each = [&](auto fn) {
    forEachElement<2>(dims, {broadcastStrides(a.shape, dims), broadcastStrides(b.shape, dims)}, {0, 0}, fn);
  };
  if (a.isFloat() && b.isFloat() && out->isFloat())
    each([&](int64_t i, auto at) { out->floats()[i] = evalFloat(kind, a.floats()[at[0]], b.floats()[at[1]]); });
  else if (out->isFloat())
    each([&](int64_t i, auto at) { out->floats()[i] = evalMixed(kind, a, at[0], b, at[1]); });
  else if (a.isFloat() || b.isFloat())
    each([&](int64_t i, auto at) { out->ints()[i] = saturate(evalMixed(kind, a, at[0], b, at[1]), out->elementType); });
  else
    each([&](int64_t i, auto at) {
      int64_t x = a.ints()[at[0]], y = b.ints()[at[1]];
      std::optional<int64_t> wide =
          a.elementType.isUnsignedInteger(64) ? evalUnsigned64(kind, x, y) : std::optional<int64_t>();
      out->ints()[i] = wide ? *wide : evalInt(kind, x, y);
    });
  return finish(std::move(*out), results);
}

namespace {

/// Value of a splat constant (any float or integer type).
std::optional<double> splatValue(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)))
    return std::nullopt;
  HostTensor t = HostTensor::fromElements(
      cast<ElementsAttr>(splat.resizeSplat(RankedTensorType::get({}, splat.getElementType()))));
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
      if (value && x.getType() == op.getType() &&
          isNeutral(op.getKind(), *value, swapped, isa<FloatType>(elementOf(x)))) {
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

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  Type a = elementOf(adaptor.getOnTrue()), b = elementOf(adaptor.getOnFalse());
  if (a != b)
    return emitOptionalError(loc, "operand types differ (", a, ", ", b, ")");
  Dims values, dims;
  if (failed(broadcastDims(loc, dimsOf(adaptor.getOnTrue()), dimsOf(adaptor.getOnFalse()), values)) ||
      failed(broadcastDims(loc, dimsOf(adaptor.getCondition()), values, dims)))
    return failure();
  return addResult(loc, dims, a, results);
}

LogicalResult SelectOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  Dims values, dims;
  if (failed(broadcastDims(getLoc(), operands[1].shape, operands[2].shape, values)) ||
      failed(broadcastDims(getLoc(), operands[0].shape, values, dims)))
    return failure();
  FailureOr<HostTensor> out = allocate(*this, dims, operands[1].elementType);
  if (failed(out))
    return failure();
  const std::vector<int64_t> &condition = operands[0].ints();
  withData(*out, operands[1], [&](auto &to, const auto &onTrue) {
    const auto &onFalse = std::get<std::decay_t<decltype(onTrue)>>(operands[2].data);
    forEachElement<3>(dims,
                      {broadcastStrides(operands[0].shape, dims), broadcastStrides(operands[1].shape, dims),
                       broadcastStrides(operands[2].shape, dims)},
                      {0, 0, 0},
                      [&](int64_t i, auto at) { to[i] = condition[at[0]] ? onTrue[at[1]] : onFalse[at[2]]; });
  });
  results.push_back(std::move(*out));
  return success();
}

LogicalResult CastOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  if (!TensorType::isValidElementType(adaptor.getTo()))
    return emitOptionalError(loc, "cannot cast to ", adaptor.getTo());
  return addResult(loc, dimsOf(adaptor.getInput()), adaptor.getTo(), results);
}

/// The integer as a double that a later rounding to fp32 or less rounds right: what does not fit in 53 bits is
/// truncated and its last bit set if anything was lost (round to odd), or the value would be rounded twice.
static double toOddDouble(uint64_t magnitude) {
  int excess = 64 - 53 - static_cast<int>(llvm::countl_zero(magnitude));
  if (excess <= 0)
    return static_cast<double>(magnitude);
  uint64_t kept = magnitude >> excess, lost = magnitude & ((uint64_t(1) << excess) - 1);
  return std::ldexp(static_cast<double>(kept | (lost != 0)), excess);
}

static double intToFloat(int64_t x, Type from, Type to) {
  bool isNegative = x < 0 && !from.isUnsignedInteger(64);
  uint64_t magnitude = isNegative ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  double value = to.isF64() ? static_cast<double>(magnitude) : toOddDouble(magnitude);
  return isNegative ? -value : value;
}

LogicalResult CastOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  Type from = x.elementType, to = getTo();
  FailureOr<HostTensor> out = allocate(*this, x.shape, to);
  if (failed(out))
    return failure();
  if (x.isFloat() && out->isFloat())
    out->floats() = x.floats();
  else if (x.isFloat())
    llvm::transform(x.floats(), out->ints().begin(), [&](double v) { return saturate(v, to); });
  else if (out->isFloat())
    llvm::transform(x.ints(), out->floats().begin(), [&](int64_t v) { return intToFloat(v, from, to); });
  else if (to.isInteger(1))
    llvm::transform(x.ints(), out->ints().begin(), [](int64_t v) { return v != 0; });
  else
    out->ints() = x.ints();
  return finish(std::move(*out), results);
}

OpFoldResult CastOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : Value(); }
