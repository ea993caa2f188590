//===- FoldWeights.cpp - rules on weight references ------------------------===//
//
// Weight bytes are never read here: a rule changes the reference's type or offset, or the flags of its only consumer.
//
//===----------------------------------------------------------------------===//
#include "lib/Transforms/Fold.h"
#include "lib/Transforms/Match.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {
namespace {

WeightAttr weightOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? constant.getWeight() : WeightAttr();
}

/// The same bytes, or a part of them, as another type.
WeightAttr viewOf(WeightAttr weight, uint64_t skipBytes, RankedTensorType type) {
  return WeightAttr::get(weight.getContext(), type, weight.getName(), weight.getFile(), weight.getOffset() + skipBytes,
                         byteSize(type));
}

struct ReshapeWeight : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    WeightAttr weight = weightOf(op.getInput());
    auto type = tensorType(op.getResult());
    if (!weight || !type.hasStaticShape() || byteSize(type) != weight.getLength())
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(op, viewOf(weight, 0, type));
    return success();
  }
};

/// Rows [start, start+n) of a weight: contiguous, so only the offset moves.
struct SliceWeight : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    WeightAttr weight = weightOf(op.getInput());
    auto type = tensorType(op.getResult());
    if (!weight || !type.hasStaticShape() || type.getNumElements() == 0 || !op.getStarts())
      return failure();
    ArrayRef<int64_t> axes = op.getAxes(), whole = dimsOf(op.getInput());
    std::optional<ArrayRef<int64_t>> steps = op.getSteps();
    // Leading unit dims do not break contiguity: the sliced axis is the first with more than one element.
    auto first = llvm::find_if(whole, [](int64_t d) { return d != 1; });
    if (axes.size() != 1 || axes[0] != first - whole.begin() || (steps && (*steps)[0] != 1))
      return failure();
    int64_t start = (*op.getStarts())[0], dim = whole[axes[0]];
    start = std::clamp<int64_t>(start < 0 ? start + dim : start, 0, dim);
    rewriter.replaceOpWithNewOp<ConstantOp>(op, viewOf(weight, start * (weight.getLength() / dim), type));
    return success();
  }
};

} // namespace

void addWeightPatterns(RewritePatternSet &patterns) { patterns.add<ReshapeWeight, SliceWeight>(patterns.getContext()); }

} // namespace gaudi::transforms
