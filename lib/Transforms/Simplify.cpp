//===- Simplify.cpp - CSE, canonicalisation, exact algebra -----------------===//
#include "lib/Transforms/Simplify.h"
#include "dialects/graph/Build.h"
#include "lib/Transforms/Fold.h"
#include "lib/Transforms/Match.h"
#include "lib/Transforms/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

#include <cmath>

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

#define GEN_PASS_DEF_SIMPLIFY
#include "lib/Transforms/Passes.h.inc"

namespace {

bool isPowerOfTwo(double c) {
  int exponent;
  return std::isnormal(c) && std::abs(std::frexp(c, &exponent)) == 0.5 && std::abs(exponent) < 64;
}

Value scalarLike(PatternRewriter &rewriter, Operation *op, double value) {
  return Build(rewriter, op->getLoc()).scalar(value, elementOf(op->getResult(0)));
}

/// Neither infinite nor subnormal in `type`: 2^17 is no f16, and 2^-28 has lost all its bits there.
bool isNormalIn(double value, Type type) {
  APFloat number(value);
  bool losesInfo;
  number.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return number.isNormal();
}

/// x / c -> x * (1/c): exact when c is a power of two (and 1/c is a normal number).
struct DivideToMultiply : OpRewritePattern<BinaryOp> {
  DivideToMultiply(MLIRContext *context, bool fastMath) : OpRewritePattern(context), fastMath(fastMath) {}
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    WithScalar quotient = withScalar(op.getResult(), BinaryKind::div);
    Type type = elementOf(op.getResult());
    if (!quotient || !isa<FloatType>(type) || quotient.c == 0 || !(isPowerOfTwo(quotient.c) || fastMath) ||
        !isNormalIn(1 / quotient.c, type))
      return failure();
    Value factor = scalarLike(rewriter, op, 1 / quotient.c);
    rewriter.replaceOpWithNewOp<BinaryOp>(op, BinaryKind::mul, quotient.x, factor);
    return success();
  }
  bool fastMath;
};

/// (x * c1) * c2 -> x * (c1 c2): exact when one of the two is a power of two and the product is a normal number.
struct MergeFactors : OpRewritePattern<BinaryOp> {
  MergeFactors(MLIRContext *context, bool fastMath) : OpRewritePattern(context), fastMath(fastMath) {}
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    WithScalar outer = withScalar(op.getResult(), BinaryKind::mul);
    WithScalar inner = outer ? withScalar(outer.x, BinaryKind::mul) : WithScalar();
    Type type = elementOf(op.getResult());
    if (!inner || !isa<FloatType>(type) || !outer.x.hasOneUse())
      return failure();
    if (!fastMath && !isPowerOfTwo(outer.c) && !isPowerOfTwo(inner.c))
      return failure();
    if (!isNormalIn(inner.c * outer.c, type))
      return failure();
    Value factor = scalarLike(rewriter, op, inner.c * outer.c);
    rewriter.replaceOpWithNewOp<BinaryOp>(op, BinaryKind::mul, inner.x, factor);
    return success();
  }
  bool fastMath;
};

/// pow(x, 2) -> x * x: one rounding instead of a logarithm and an exponential.
struct SquareByMultiply : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    WithScalar power = withScalar(op.getResult(), BinaryKind::pow);
    if (!power || power.c != 2)
      return failure();
    rewriter.replaceOpWithNewOp<BinaryOp>(op, BinaryKind::mul, power.x, power.x);
    return success();
  }
};

/// select on a constant condition.
struct KnownSelect : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    std::optional<double> condition = scalarOf(op.getCondition());
    Value chosen = condition ? (*condition != 0 ? op.getOnTrue() : op.getOnFalse()) : Value();
    if (!chosen || !tensorType(op.getResult()).hasStaticShape())
      return failure();
    if (chosen.getType() == op.getType())
      rewriter.replaceOp(op, chosen);
    else
      rewriter.replaceOpWithNewOp<BroadcastOp>(op, chosen, dimsOf(op.getResult()));
    return success();
  }
};

/// x and true, x or false. The constant may widen x: masks built from ranges and comparisons end so.
struct NeutralLogical : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    if (op.getKind() != BinaryKind::logical_and && op.getKind() != BinaryKind::logical_or)
      return failure();
    double neutral = op.getKind() == BinaryKind::logical_and;
    Value x = isScalar(op.getRhs(), neutral) ? op.getLhs() : isScalar(op.getLhs(), neutral) ? op.getRhs() : Value();
    if (!x || !tensorType(op.getResult()).hasStaticShape())
      return failure();
    if (x.getType() == op.getType())
      rewriter.replaceOp(op, x);
    else
      rewriter.replaceOpWithNewOp<BroadcastOp>(op, x, dimsOf(op.getResult()));
    return success();
  }
};

/// The permutation swaps the last two dims and nothing else.
bool swapsLastTwo(ArrayRef<int64_t> permutation) {
  int64_t rank = permutation.size();
  if (rank < 2 || permutation[rank - 1] != rank - 2 || permutation[rank - 2] != rank - 1)
    return false;
  return llvm::equal(permutation.drop_back(2), llvm::seq<int64_t>(rank - 2));
}

/// matmul(x, transpose(w)) -> matmul(x, w) {transpose_rhs}: nothing is moved, and a tied embedding stays one weight.
struct AbsorbTranspose : OpRewritePattern<MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatMulOp op, PatternRewriter &rewriter) const override {
    auto absorb = [](Value &operand, bool &flag) {
      auto transpose = operand.getDefiningOp<TransposeOp>();
      if (!transpose || !swapsLastTwo(transpose.getPermutation()))
        return false;
      operand = transpose.getInput();
      flag = !flag;
      return true;
    };
    Value lhs = op.getLhs(), rhs = op.getRhs();
    bool left = op.getTransposeLhs(), right = op.getTransposeRhs();
    bool absorbedLeft = absorb(lhs, left), absorbedRight = absorb(rhs, right);
    if (!absorbedLeft && !absorbedRight)
      return failure();
    rewriter.replaceOpWithNewOp<MatMulOp>(op, op.getType(), lhs, rhs, left, right);
    return success();
  }
};

/// Weights that are equal in bytes and type are one constant, whatever their names (exporters duplicate initialisers).
void shareWeights(func::FuncOp func) {
  llvm::DenseMap<std::pair<Type, std::pair<uint64_t, uint64_t>>, ConstantOp> seen; // looked up only
  for (ConstantOp constant : llvm::make_early_inc_range(func.getBody().front().getOps<ConstantOp>())) {
    WeightAttr weight = constant.getWeight();
    if (!weight)
      continue;
    auto [it, isNew] = seen.try_emplace({constant.getType(), {weight.getFile(), weight.getOffset()}}, constant);
    if (isNew)
      continue;
    constant.replaceAllUsesWith(it->second.getResult());
    constant.erase();
  }
}

struct SimplifyPass : impl::SimplifyBase<SimplifyPass> {
  using SimplifyBase::SimplifyBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    for (RegisteredOperationName name : context->getRegisteredOperations())
      if (name.getDialectNamespace() == GraphDialect::getDialectNamespace())
        name.getCanonicalizationPatterns(set, context);
    set.add<DivideToMultiply, MergeFactors>(context, fastMath.getValue());
    set.add<SquareByMultiply, KnownSelect, NeutralLogical, AbsorbTranspose>(context);
    addPushBroadcastPatterns(set);
    addSinkReshapePatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    GreedyRewriteConfig config;
    config.setMaxIterations(10);
    // Equal subgraphs hide patterns behind "two uses", and patterns make subgraphs equal: two rounds settle both.
    for (int round = 0; round < 2; ++round) {
      shareWeights(func);
      IRRewriter rewriter(&getContext());
      DominanceInfo dominance;
      bool changed = false;
      eliminateCommonSubExpressions(rewriter, dominance, func, &changed);
      (void)applyPatternsGreedily(func, patterns, config, &changed);
      eraseDead(func);
      if (!changed)
        break;
    }
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace gaudi::transforms
