//===- ShapeFolds.cpp - canonical forms of ops that move elements ---------===//
//
// Canonical: shapes and bounds as attributes; static squeeze, unsqueeze and transposes of unit dims as reshape; no
// chains of reshapes or of transposes.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Infer.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

/// Moves a constant operand into an attribute.
template <typename SetAttr> static bool takeConstant(MutableOperandRange operand, SetAttr setAttr) {
  std::optional<Dims> values = operand.empty() ? std::nullopt : constantInts(operand[0].get());
  if (!values)
    return false;
  operand.clear();
  setAttr(ArrayRef<int64_t>(*values));
  return true;
}

bool graph::foldShapeOperands(Operation *op) {
  auto shape = [](auto op) { return takeConstant(op.getShapeOperandMutable(), [&](auto v) { op.setShape(v); }); };
  return TypeSwitch<Operation *, bool>(op)
      .Case<ReshapeOp, BroadcastOp>(shape)
      .Case([](SliceOp op) {
        bool changed = takeConstant(op.getStartsOperandMutable(), [&](auto v) { op.setStarts(v); });
        changed |= takeConstant(op.getEndsOperandMutable(), [&](auto v) { op.setEnds(v); });
        changed |= takeConstant(op.getStepsOperandMutable(), [&](auto v) { op.setSteps(v); });
        return changed;
      })
      .Case([](PadOp op) { return takeConstant(op.getPadsOperandMutable(), [&](auto v) { op.setPads(v); }); })
      .Default(false);
}

namespace {

template <typename OpT> struct FoldShapeOperands : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    bool changed = false;
    rewriter.startOpModification(op);
    changed = foldShapeOperands(op);
    if (changed)
      rewriter.finalizeOpModification(op);
    else
      rewriter.cancelOpModification(op);
    return success(changed);
  }
};

/// A reshape to a static shape needs neither 0 nor -1.
struct PlainReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> dims = dimsOf(op.getResult());
    bool isPlain = op.getShape() && *op.getShape() == dims && op.getAllowzero() == llvm::is_contained(dims, 0);
    std::optional<int64_t> count = elementCount(dims);
    // A declared type may contradict a shape that only the run time knows: left for the run time to report.
    if (isPlain || !count || count != elementCount(dimsOf(op.getInput())))
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getInput(), dims);
    return success();
  }
};

/// reshape(reshape(x)) -> reshape(x), unless the outer one copies dims (0) of the inner one.
struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ReshapeOp>();
    bool copies = !op.getAllowzero() && op.getShape() && llvm::is_contained(*op.getShape(), 0);
    if (!inner || !op.getShape() || copies)
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getInputMutable().assign(inner.getInput()); });
    return success();
  }
};

template <typename OpT> struct StaticToReshape : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    if (!elementCount(dimsOf(op.getResult())) || !elementCount(dimsOf(op.getInput())))
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getInput(), dimsOf(op.getResult()));
    return success();
  }
};

struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    Dims merged;
    for (int64_t p : op.getPermutation())
      merged.push_back(inner.getPermutation()[p]);
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputMutable().assign(inner.getInput());
      op.setPermutation(merged);
    });
    return success();
  }
};

/// A transpose that keeps the order of the non-unit dims moves no element.
struct UnitTransposeToReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> input = dimsOf(op.getInput()), result = dimsOf(op.getResult());
    Dims moving = llvm::filter_to_vector(op.getPermutation(), [&](int64_t p) { return input[p] != 1; });
    if (!elementCount(input) || !elementCount(result) || !llvm::is_sorted(moving))
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getInput(), result);
    return success();
  }
};

} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FoldShapeOperands<ReshapeOp>, PlainReshape, MergeReshapes>(context);
}
void SqueezeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<StaticToReshape<SqueezeOp>>(context);
}
void UnsqueezeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<StaticToReshape<UnsqueezeOp>>(context);
}
void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeTransposes, UnitTransposeToReshape>(context);
}
void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FoldShapeOperands<BroadcastOp>>(context);
}
void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FoldShapeOperands<SliceOp>>(context);
}
void PadOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FoldShapeOperands<PadOp>>(context);
}
