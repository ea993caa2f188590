//===- RecomposeSoftmax.cpp - exp(x - max) / sum -> softmax ----------------===//
#include "lib/Transforms/Match.h"
#include "lib/Transforms/Passes.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

#define GEN_PASS_DEF_RECOMPOSESOFTMAX
#include "lib/Transforms/Passes.h.inc"

namespace {

Value reduceInput(Value value, ReduceKind kind, int64_t &axis) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != kind || !reduce.getKeepdims() || reduce.getAxes().size() != 1)
    return {};
  axis = reduce.getAxes()[0];
  return reduce.getInput();
}

/// x in x - max(x). Without the subtraction large x overflow, which a softmax op would not reproduce: not matched.
Value shiftedInput(Value value, int64_t axis) {
  BinaryOp sub = binaryOf(value, BinaryKind::sub);
  int64_t maxAxis = -1;
  Value x = sub ? reduceInput(sub.getRhs(), ReduceKind::max, maxAxis) : Value();
  return x && x == sub.getLhs() && maxAxis == axis ? x : Value();
}

struct FormSoftmax : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    Value sum = op.getKind() == BinaryKind::div   ? op.getRhs()
                : op.getKind() == BinaryKind::mul ? unaryInput(op.getRhs(), UnaryKind::reciprocal)
                                                  : Value();
    int64_t axis = -1;
    Value exponentials = sum ? reduceInput(sum, ReduceKind::sum, axis) : Value();
    Value shifted = exponentials == op.getLhs() && exponentials ? unaryInput(exponentials, UnaryKind::exp) : Value();
    Value x = shifted ? shiftedInput(shifted, axis) : Value();
    if (!x || x.getType() != op.getType())
      return failure();
    Location loc = fusedLocation(op, {exponentials, sum});
    rewriter.replaceOp(op, SoftmaxOp::create(rewriter, loc, op.getType(), x, rewriter.getI64IntegerAttr(axis)));
    return success();
  }
};

/// (x - max) - log(sum(exp(x - max))).
struct FormLogSoftmax : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    Value sum = op.getKind() == BinaryKind::sub ? unaryInput(op.getRhs(), UnaryKind::log) : Value();
    int64_t axis = -1;
    Value exponentials = sum ? reduceInput(sum, ReduceKind::sum, axis) : Value();
    Value shifted = exponentials ? unaryInput(exponentials, UnaryKind::exp) : Value();
    Value x = shifted && shifted == op.getLhs() ? shiftedInput(shifted, axis) : Value();
    if (!x || x.getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, SoftmaxOp::create(rewriter, fusedLocation(op, {exponentials}), op.getType(), x,
                                             rewriter.getI64IntegerAttr(axis), rewriter.getUnitAttr()));
    return success();
  }
};

struct RecomposeSoftmaxPass : impl::RecomposeSoftmaxBase<RecomposeSoftmaxPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FormSoftmax, FormLogSoftmax>(&getContext());
    rewriteGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace gaudi::transforms
