//===- FoldWeights.cpp - rules on weight references ------------------------===//
//
// Weight bytes are never read here: a rule changes the reference's type or offset, or the flags of its only consumer.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Build.h"
#include "dialects/graph/Evaluate.h"
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

/// `count` rows of a weight from row `first`, as a reference of another type.
Value weightRows(PatternRewriter &rewriter, Operation *op, WeightAttr weight, int64_t first, RankedTensorType type) {
  auto whole = cast<RankedTensorType>(weight.getType());
  uint64_t rowBytes = whole.getDimSize(0) ? weight.getLength() / whole.getDimSize(0) : 0;
  auto slice = WeightAttr::get(op->getContext(), type, weight.getName(), weight.getFile(),
                               weight.getOffset() + first * rowBytes, byteSize(type));
  return ConstantOp::create(rewriter, op->getLoc(), slice);
}

struct ReshapeWeight : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    WeightAttr weight = weightOf(op.getInput());
    auto type = tensorType(op.getResult());
    if (!weight || !type.hasStaticShape() || byteSize(type) != weight.getLength())
      return failure();
    rewriter.replaceOp(op, weightRows(rewriter, op, weight, 0, type));
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
    uint64_t rowBytes = weight.getLength() / dim;
    auto slice = WeightAttr::get(op.getContext(), type, weight.getName(), weight.getFile(),
                                 weight.getOffset() + start * rowBytes, byteSize(type));
    rewriter.replaceOpWithNewOp<ConstantOp>(op, slice);
    return success();
  }
};

/// Leading dims along which a constant repeats itself shrink to 1: position or type ids expanded over the batch.
HostTensor dropRepeats(HostTensor ids) {
  for (size_t axis = 0; axis < ids.shape.size(); ++axis) {
    int64_t dim = ids.shape[axis], inner = ids.elementCount() / std::max<int64_t>(dim, 1);
    ArrayRef<int64_t> values(ids.ints());
    bool repeats = llvm::all_of(llvm::seq<int64_t>(1, dim), [&](int64_t i) {
      return values.slice(i * inner, inner) == values.take_front(inner);
    });
    if (!repeats || dim == 0)
      break;
    ids.ints().resize(inner);
    ids.shape[axis] = 1;
  }
  return ids;
}

/// Gather of consecutive rows by a constant index is a slice of the reference (the position table).
struct GatherWeightRows : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &rewriter) const override {
    WeightAttr weight = weightOf(op.getData());
    std::optional<HostTensor> constant = constantValue(op.getIndices());
    auto type = tensorType(op.getResult());
    if (!weight || !constant || op.getAxis() != 0 || !type.hasStaticShape() || type.getNumElements() == 0)
      return failure();
    HostTensor ids = dropRepeats(std::move(*constant));
    ArrayRef<int64_t> values(ids.ints());
    int64_t rows = dimsOf(op.getData())[0], first = values[0] < 0 ? values[0] + rows : values[0];
    for (auto [i, id] : llvm::enumerate(values))
      if ((id < 0 ? id + rows : id) != first + static_cast<int64_t>(i))
        return failure();
    if (first < 0 || first + static_cast<int64_t>(values.size()) > rows)
      return failure(); // out of range: left for the verifier of values to report
    SmallVector<int64_t> dims(ids.shape);
    llvm::append_range(dims, dimsOf(op.getData()).drop_front());
    Value slice = weightRows(rewriter, op, weight, first, type.clone(dims));
    if (slice.getType() == type)
      rewriter.replaceOp(op, slice);
    else
      rewriter.replaceOpWithNewOp<BroadcastOp>(op, slice, type.getShape());
    return success();
  }
};

} // namespace

void addWeightPatterns(RewritePatternSet &patterns) {
  patterns.add<ReshapeWeight, SliceWeight, GatherWeightRows>(patterns.getContext());
}

} // namespace gaudi::transforms
