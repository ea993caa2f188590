//===- PushBroadcasts.cpp - compute before broadcasting --------------------===//
//
//   add(broadcast(m : [B,1,1,S] -> [B,H,S,S]), scores)   ->  add(m, scores)                    implied by numpy rules
//   mul(broadcast(m : [B,1,1,S] -> [B,1,S,S]), c)        ->  broadcast(mul(m, c))              computed once per
//   element
//
// so that an attention mask stays [B,1,1,S] until the op that consumes it. Splat constants count as scalars.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Build.h"
#include "lib/Transforms/Match.h"
#include "lib/Transforms/Simplify.h"

#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {
namespace {

/// The splat of a constant that is not a scalar yet, or null.
DenseElementsAttr wideSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return dense && dense.isSplat() && rankOf(value) > 0 ? dense : DenseElementsAttr();
}

bool isNarrowable(Value value) { return value.getDefiningOp<BroadcastOp>() || wideSplat(value); }

/// Dims of an operand before it was broadcast: those of the broadcast's input, or none for a splat constant.
ArrayRef<int64_t> narrowedDims(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return dimsOf(broadcast.getInput());
  return wideSplat(value) ? ArrayRef<int64_t>() : dimsOf(value);
}

Value narrowed(OpBuilder &builder, Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return broadcast.getInput();
  DenseElementsAttr splat = wideSplat(value);
  if (!splat)
    return value;
  auto scalar = splat.resizeSplat(RankedTensorType::get({}, splat.getElementType()));
  return ConstantOp::create(builder, value.getLoc(), scalar);
}

std::optional<SmallVector<int64_t>> narrowedJoin(Operation *op) {
  SmallVector<int64_t> dims;
  for (Value value : op->getOperands()) {
    SmallVector<int64_t> next;
    ArrayRef<int64_t> own = narrowedDims(value);
    if (ShapedType::isDynamicShape(own) || !OpTrait::util::getBroadcastedShape(dims, own, next))
      return std::nullopt;
    dims = next;
  }
  return dims;
}

struct PushBroadcast : RewritePattern {
  explicit PushBroadcast(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isElementwise(op) || !tensorType(op->getResult(0)).hasStaticShape() ||
        llvm::none_of(op->getOperands(), isNarrowable))
      return failure();
    if (llvm::all_of(op->getOperands(), [](Value v) { return bool(scalarOf(v)); }))
      return failure(); // constant folding's business
    std::optional<SmallVector<int64_t>> dims = narrowedJoin(op);
    ArrayRef<int64_t> whole = dimsOf(op->getResult(0));
    bool hasBroadcast = llvm::any_of(op->getOperands(), [](Value v) { return bool(v.getDefiningOp<BroadcastOp>()); });
    // A constant splat that widens the result is a broadcast too, but nothing is gained by saying so.
    if (!dims || (ArrayRef(*dims) != whole && !hasBroadcast))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(narrowed(rewriter, operand));
    if (ArrayRef(*dims) == whole) {
      rewriter.modifyOpInPlace(op, [&] { op->setOperands(operands); });
      return success();
    }
    Operation *small = rewriter.clone(*op);
    auto type = tensorType(op->getResult(0)).clone(*dims);
    rewriter.modifyOpInPlace(small, [&] {
      small->setOperands(operands);
      small->getResult(0).setType(type);
      small->setLoc(withoutValueName(op->getLoc()));
    });
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, small->getResult(0), whole);
    return success();
  }
};

/// broadcast(broadcast(x)) -> broadcast(x).
struct MergeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<BroadcastOp>();
    if (!inner || !tensorType(op.getResult()).hasStaticShape())
      return failure();
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, inner.getInput(), dimsOf(op.getResult()));
    return success();
  }
};

/// A mask broadcasts to [B, H, Sq, Skv] by itself.
struct DropMaskBroadcast : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getMask() ? op.getMask().getDefiningOp<BroadcastOp>() : BroadcastOp();
    if (!broadcast)
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().assign(broadcast.getInput()); });
    return success();
  }
};

} // namespace

void addPushBroadcastPatterns(RewritePatternSet &patterns) {
  patterns.add<PushBroadcast, MergeBroadcasts, DropMaskBroadcast>(patterns.getContext());
}

} // namespace gaudi::transforms
