//===- SinkReshapes.cpp - views last ---------------------------------------===//
//
// A reshape costs nothing where it is (a view in the frame), but it cuts a chain of elementwise ops into two kernels.
// Moving it below keeps the chain whole:
//
//   x -> reshape -> gelu -> mul 2      becomes      x -> gelu -> mul 2 -> reshape
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Build.h"
#include "lib/Transforms/Match.h"
#include "lib/Transforms/Simplify.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {
namespace {

/// One-element tensors broadcast against anything; their rank must not widen the result.
bool isOneElement(Value value, int64_t rank) {
  return tensorType(value).hasStaticShape() && tensorType(value).getNumElements() == 1 && rankOf(value) <= rank;
}

/// Rebuilds the elementwise `op` on `operands` of shape `dims` and views the result as before.
void rebuildBelow(Operation *op, ArrayRef<Value> operands, ArrayRef<int64_t> dims, PatternRewriter &rewriter) {
  Operation *moved = rewriter.clone(*op);
  auto type = tensorType(op->getResult(0));
  rewriter.modifyOpInPlace(moved, [&] {
    moved->setOperands(operands);
    moved->getResult(0).setType(type.clone(dims));
  });
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, moved->getResult(0), type.getShape());
}

/// A one-element operand as rank 0, so that it fits the smaller rank on the other side of the reshape.
Value asScalar(PatternRewriter &rewriter, Operation *op, Value value) {
  return rankOf(value) == 0 ? value : ReshapeOp::create(rewriter, op->getLoc(), value, ArrayRef<int64_t>()).getResult();
}

/// The reshapes among the operands if all others are scalars; their inputs have one common shape.
struct SinkReshape : RewritePattern {
  explicit SinkReshape(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isElementwise(op) || !tensorType(op->getResult(0)).hasStaticShape())
      return failure();
    std::optional<ArrayRef<int64_t>> source;
    for (Value operand : op->getOperands()) {
      auto reshape = operand.getDefiningOp<ReshapeOp>();
      if (reshape && sameShape(operand, op->getResult(0)) && !isOneElement(operand, rankOf(operand))) {
        if (source && *source != dimsOf(reshape.getInput()))
          return failure();
        source = dimsOf(reshape.getInput());
      } else if (!isOneElement(operand, rankOf(op->getResult(0)))) {
        return failure();
      }
    }
    if (!source)
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isOneElement(operand, rankOf(op->getResult(0)))
                             ? asScalar(rewriter, op, operand)
                             : operand.getDefiningOp<ReshapeOp>().getInput());
    rebuildBelow(op, operands, *source, rewriter);
    return success();
  }
};

/// True for the result of a matmul and of the elementwise ops that directly follow one.
bool followsMatMul(Value value) {
  for (int depth = 0; depth < 8; ++depth) { // epilogues are short
    Operation *op = value.getDefiningOp();
    if (isa_and_present<MatMulOp>(op))
      return true;
    if (!isElementwise(op) || !value.hasOneUse())
      return false;
    auto next = llvm::find_if(op->getOperands(), [&](Value v) { return v.getDefiningOp() && sameShape(v, value); });
    if (next == op->operand_end())
      return false;
    value = *next;
  }
  return false;
}

/// [N] or [1, .., 1, N].
bool isColumnVector(Value value) {
  ArrayRef<int64_t> dims = dimsOf(value);
  return !dims.empty() && llvm::all_of(dims.drop_back(), [](int64_t d) { return d == 1; });
}

/// matmul -> reshape (last dim kept) -> binary with bias or residual: the reshape moves below, so that the binary op is
/// part of the matmul's kernel. A residual is viewed the other way round, which is free.
struct SinkMatMulReshape : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    for (bool swapped : {false, true}) {
      Value viewed = swapped ? op.getRhs() : op.getLhs(), other = swapped ? op.getLhs() : op.getRhs();
      auto reshape = viewed.getDefiningOp<ReshapeOp>();
      if (!reshape || !viewed.hasOneUse() || !sameShape(viewed, op.getResult()) || other == viewed ||
          !reshape.getInput().hasOneUse() || !followsMatMul(reshape.getInput()))
        continue;
      ArrayRef<int64_t> inner = dimsOf(reshape.getInput()), outer = dimsOf(viewed);
      if (inner.empty() || outer.empty() || inner.back() != outer.back())
        continue;
      Value moved = movedOperand(rewriter, op, other, inner, outer);
      if (!moved)
        continue;
      Value a = reshape.getInput();
      rebuildBelow(op, swapped ? ArrayRef{moved, a} : ArrayRef{a, moved}, inner, rewriter);
      return success();
    }
    return failure();
  }

  static Value movedOperand(PatternRewriter &rewriter, Operation *op, Value other, ArrayRef<int64_t> inner,
                            ArrayRef<int64_t> outer) {
    if (dimsOf(other) == outer)
      return ReshapeOp::create(rewriter, op->getLoc(), other, inner);
    if (!isColumnVector(other))
      return {};
    if (rankOf(other) <= static_cast<int64_t>(inner.size()))
      return other;
    return ReshapeOp::create(rewriter, op->getLoc(), other, ArrayRef<int64_t>(dimsOf(other).back()));
  }
};

} // namespace

void addSinkReshapePatterns(RewritePatternSet &patterns) { patterns.add<SinkReshape>(patterns.getContext()); }
void addSinkMatMulReshapePatterns(RewritePatternSet &patterns) {
  patterns.add<SinkReshape, SinkMatMulReshape>(patterns.getContext());
}

} // namespace gaudi::transforms
