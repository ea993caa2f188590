//===- RecomposeActivations.cpp - GELU and SiLU from primitives ------------===//
//
// Exporters differ in the order of the products, so products are compared as multisets of factors times a constant:
//
//   gelu       0.5 * x * (1 + erf(0.70710678 x))
//   gelu_tanh  0.5 * x * (1 + tanh(0.79788456 (x + 0.044715 x^3)))
//   silu       x * sigmoid(x)            quick-gelu x * sigmoid(1.702 x) stays as it is
//
//===----------------------------------------------------------------------===//
#include "lib/Transforms/Match.h"
#include "lib/Transforms/Passes.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

#define GEN_PASS_DEF_RECOMPOSEACTIVATIONS
#include "lib/Transforms/Passes.h.inc"

namespace {

constexpr double kSqrtHalf = 0.70710678118654752; // 1/sqrt(2)
constexpr double kSqrt2OverPi = 0.79788456080286536;
constexpr double kCubic = 0.044715; // Hendrycks and Gimpel, GELU, 2016

/// a + a * f: the two-sided form of 1 + f; gives a and f.
WithScalar onePlus(Value value) {
  WithScalar sum = withScalar(value, BinaryKind::add);
  if (!sum || sum.c == 0)
    return {};
  if (sum.c == 1 && !scaled(sum.x))
    return {sum.x, 1};
  WithScalar part = scaled(sum.x);
  return part && part.c == sum.c ? WithScalar{part.x, sum.c} : WithScalar();
}

/// x if `value` is factor * x; `value` itself counts for factor 1.
Value scaledBy(Value value, double factor) {
  WithScalar part = scaled(value);
  return part && nearly(part.c, factor, elementOf(value)) ? part.x : Value();
}

bool isCube(Value value, Value x, double scale) {
  Product cube = productOf(value, x);
  return nearly(cube.scale, scale, elementOf(value)) && cube.factors.size() == 3 &&
         llvm::all_of(cube.factors, [&](Value f) { return f == x; });
}

/// x in sqrt(2/pi) (x + 0.044715 x^3).
Value tanhArgument(Value value) {
  Product product = productOf(value);
  if (!nearly(product.scale, kSqrt2OverPi, elementOf(value)))
    return {};
  for (Value factor : product.factors) {
    BinaryOp sum = binaryOf(factor, BinaryKind::add);
    if (!sum)
      continue;
    if (product.factors.size() == 1) // x + c x^3
      for (auto [x, cubic] : {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())})
        if (isCube(cubic, x, kCubic))
          return x;
    WithScalar shifted = withScalar(factor, BinaryKind::add);
    if (product.factors.size() != 2 || !shifted || shifted.c != 1) // x (1 + c x^2)
      continue;
    Value x = product.factors[factor == product.factors[0] ? 1 : 0];
    Product square = productOf(shifted.x, x);
    if (nearly(square.scale, kCubic, elementOf(value)) && square.factors.size() == 2 &&
        llvm::all_of(square.factors, [&](Value f) { return f == x; }))
      return x;
  }
  return {};
}

/// What a factor says about the activation it belongs to.
struct Gate {
  UnaryKind kind;
  Value x;
  double scale; ///< the product of the other constants must be this
};

std::optional<Gate> gateOf(Value factor) {
  if (Value x = unaryInput(factor, UnaryKind::sigmoid))
    return Gate{UnaryKind::silu, x, 1};
  WithScalar sum = onePlus(factor);
  if (!sum)
    return std::nullopt;
  if (Value argument = unaryInput(sum.x, UnaryKind::erf))
    if (Value x = scaledBy(argument, kSqrtHalf))
      return Gate{UnaryKind::gelu, x, 0.5 / sum.c};
  if (Value argument = unaryInput(sum.x, UnaryKind::tanh))
    if (Value x = tanhArgument(argument))
      return Gate{UnaryKind::gelu_tanh, x, 0.5 / sum.c};
  return std::nullopt;
}

struct FormActivation : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    Value root = op.getResult();
    if ((op.getKind() != BinaryKind::mul && op.getKind() != BinaryKind::div) || !isa<FloatType>(elementOf(root)))
      return failure();
    // First find the gate, because only it tells which value is x and must not be taken apart.
    for (Value candidate : productOf(root).factors) {
      std::optional<Gate> gate = gateOf(candidate);
      if (!gate || gate->x.getType() != root.getType())
        continue;
      Product product = productOf(root, gate->x);
      bool isPair = product.factors.size() == 2 && llvm::is_contained(product.factors, gate->x) &&
                    llvm::is_contained(product.factors, candidate);
      if (!isPair || !nearly(product.scale, gate->scale, elementOf(root)))
        continue;
      Location loc = fusedLocation(op, {candidate});
      rewriter.replaceOp(op, UnaryOp::create(rewriter, loc, root.getType(), gate->kind, gate->x));
      return success();
    }
    return failure();
  }
};

/// x / (1 + exp(-x)).
struct FormSiluByDivision : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    WithScalar sum = op.getKind() == BinaryKind::div ? withScalar(op.getRhs(), BinaryKind::add) : WithScalar();
    Value exponent = sum && sum.c == 1 ? unaryInput(sum.x, UnaryKind::exp) : Value();
    if (!exponent || unaryInput(exponent, UnaryKind::neg) != op.getLhs() || op.getLhs().getType() != op.getType())
      return failure();
    rewriter.replaceOpWithNewOp<UnaryOp>(op, op.getType(), UnaryKind::silu, op.getLhs());
    return success();
  }
};

struct RecomposeActivationsPass : impl::RecomposeActivationsBase<RecomposeActivationsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FormActivation, FormSiluByDivision>(&getContext());
    rewriteGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace gaudi::transforms
