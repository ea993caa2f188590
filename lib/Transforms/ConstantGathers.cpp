//===- ConstantGathers.cpp - gathers by constant indices -------------------===//
//
// Exporters write x[:, 0] as Gather with a scalar index, and masks as gathers by index grids that visit everything in
// order. A slice or a view says the same without reading indices:
//
//   gather x, 3 {axis}            ->  slice x [3:4], reshape
//   gather x, [2, 3, 4] {axis}    ->  slice x [2:5]
//   gather x, [[2, 3], [2, 3]]    ->  broadcast (gather x, [[2, 3]])
//   gather_nd x, all in order     ->  reshape x
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

/// First of `values` if they ascend by one and lie in [0, size) once negative ones are counted from the end.
std::optional<int64_t> consecutiveStart(ArrayRef<int64_t> values, int64_t size) {
  auto fromStart = [&](int64_t v) { return v < 0 ? v + size : v; };
  if (values.empty())
    return std::nullopt;
  int64_t first = fromStart(values.front());
  for (auto [i, v] : llvm::enumerate(values))
    if (fromStart(v) != first + static_cast<int64_t>(i))
      return std::nullopt;
  if (first < 0 || first + static_cast<int64_t>(values.size()) > size)
    return std::nullopt; // out of range: stays, and evaluation reports it
  return first;
}

/// Leading dims along which a constant repeats itself shrink to 1.
HostTensor dropRepeats(HostTensor ids) {
  for (size_t axis = 0; axis < ids.shape.size(); ++axis) {
    int64_t dim = ids.shape[axis], inner = ids.elementCount() / std::max<int64_t>(dim, 1);
    ArrayRef<int64_t> values(ids.ints());
    bool repeats = llvm::all_of(llvm::seq<int64_t>(1, dim),
                                [&](int64_t i) { return values.slice(i * inner, inner) == values.take_front(inner); });
    if (!repeats || dim == 0)
      break;
    ids.ints().resize(inner);
    ids.shape[axis] = 1;
  }
  return ids;
}

/// gather x, ids expanded over the batch -> broadcast (gather x, ids): position and token type ids.
struct NarrowRepeatedIndices : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &rewriter) const override {
    std::optional<HostTensor> constant = constantValue(op.getIndices());
    auto type = tensorType(op.getResult());
    if (!constant || op.getAxis() != 0 || !type.hasStaticShape() || type.getNumElements() == 0)
      return failure();
    HostTensor ids = dropRepeats(*constant);
    if (ids.shape == constant->shape)
      return failure();
    Build g(rewriter, op.getLoc());
    Value rows = g.create<GatherOp>(op.getData(), g.constant(ids.toElements()), static_cast<uint64_t>(0));
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, rows, type.getShape());
    return success();
  }
};

struct GatherToSlice : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &rewriter) const override {
    auto type = tensorType(op.getResult()), data = tensorType(op.getData());
    int64_t axis = op.getAxis();
    std::optional<HostTensor> indices = constantValue(op.getIndices());
    if (!indices || !type.hasStaticShape() || !data.hasStaticShape())
      return failure();
    std::optional<int64_t> first = consecutiveStart(indices->ints(), data.getDimSize(axis));
    if (!first)
      return failure();
    int64_t end = *first + indices->elementCount(), one = 1;
    Value slice = SliceOp::create(rewriter, op.getLoc(), op.getData(), *first, end, one, axis);
    if (slice.getType() != type)
      slice = ReshapeOp::create(rewriter, op.getLoc(), slice, type.getShape());
    rewriter.replaceOp(op, slice);
    return success();
  }
};

/// The index tuples visit dims [0, depth) of the data in row-major order, each element once.
bool visitsAllInOrder(const HostTensor &indices, ArrayRef<int64_t> dims) {
  int64_t depth = indices.shape.back(), count = 1;
  for (int64_t dim : dims.take_front(depth))
    count *= dim;
  if (depth == 0 || indices.elementCount() != count * depth)
    return false;
  for (int64_t i = 0; i < count; ++i) {
    int64_t linear = 0;
    for (int64_t d = 0; d < depth; ++d) {
      int64_t index = indices.ints()[i * depth + d];
      linear = linear * dims[d] + (index < 0 ? index + dims[d] : index);
    }
    if (linear != i)
      return false;
  }
  return true;
}

struct GatherNDToReshape : OpRewritePattern<GatherNDOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherNDOp op, PatternRewriter &rewriter) const override {
    std::optional<HostTensor> indices = constantValue(op.getIndices());
    auto type = tensorType(op.getResult());
    if (!indices || op.getBatchDims() != 0 || !type.hasStaticShape() || !tensorType(op.getData()).hasStaticShape() ||
        !visitsAllInOrder(*indices, dimsOf(op.getData())))
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getData(), type.getShape());
    return success();
  }
};

} // namespace

void addConstantGatherPatterns(RewritePatternSet &patterns) {
  patterns.add<NarrowRepeatedIndices, GatherToSlice, GatherNDToReshape>(patterns.getContext());
}

} // namespace gaudi::transforms
