//===- RecomposeNorms.cpp - LayerNorm and RMSNorm from primitives ----------===//
//
//   d   = x - mean(x)                 (RMSNorm: d = x)
//   var = mean(d * d)                 or mean(pow(d, 2))
//   y   = d / sqrt(var + eps)         or d * rsqrt(var + eps), d * (1 / sqrt(..)), pow(.., 0.5), pow(.., -0.5)
//   out = y * scale + bias            either may be missing
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Build.h"
#include "lib/Transforms/Match.h"
#include "lib/Transforms/Passes.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

#define GEN_PASS_DEF_RECOMPOSENORMS
#include "lib/Transforms/Passes.h.inc"

namespace {

/// v in sqrt(v), however it is spelt.
Value rootInput(Value value) {
  if (Value v = unaryInput(value, UnaryKind::sqrt))
    return v;
  WithScalar power = withScalar(value, BinaryKind::pow);
  return power && power.c == 0.5 ? power.x : Value();
}

/// v in 1 / sqrt(v), however it is spelt.
Value inverseRootInput(Value value) {
  if (Value v = unaryInput(value, UnaryKind::rsqrt))
    return v;
  if (Value root = unaryInput(value, UnaryKind::reciprocal))
    return rootInput(root);
  if (BinaryOp div = binaryOf(value, BinaryKind::div); div && isScalar(div.getLhs(), 1))
    return rootInput(div.getRhs());
  WithScalar power = withScalar(value, BinaryKind::pow);
  return power && power.c == -0.5 ? power.x : Value();
}

/// d in d * d or pow(d, 2).
Value squareInput(Value value) {
  if (BinaryOp mul = binaryOf(value, BinaryKind::mul); mul && mul.getLhs() == mul.getRhs())
    return mul.getLhs();
  WithScalar power = withScalar(value, BinaryKind::pow);
  return power && power.c == 2 ? power.x : Value();
}

/// mean over trailing dims with keepdims; `axis` receives the first.
Value meanInput(Value value, int64_t &axis) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != ReduceKind::mean || !reduce.getKeepdims())
    return {};
  std::optional<int64_t> first = trailingAxes(reduce.getAxes(), rankOf(reduce.getInput()));
  axis = first.value_or(0);
  return first ? reduce.getInput() : Value();
}

struct Normalised {
  Value centred; ///< d
  Value rooted;  ///< var + eps
};

/// d / sqrt(v) in any spelling.
Normalised matchNormalised(BinaryOp op) {
  if (op.getKind() == BinaryKind::div)
    return {op.getLhs(), rootInput(op.getRhs())};
  if (op.getKind() != BinaryKind::mul)
    return {};
  if (Value v = inverseRootInput(op.getRhs()))
    return {op.getLhs(), v};
  return {op.getRhs(), inverseRootInput(op.getLhs())};
}

/// Export may compute x - mean(x) twice; CSE usually has merged them, but do not depend on it.
bool sameDifference(Value a, Value b) {
  BinaryOp x = binaryOf(a, BinaryKind::sub), y = binaryOf(b, BinaryKind::sub);
  return a == b || (x && y && x.getLhs() == y.getLhs() && x.getRhs() == y.getRhs());
}

struct FormNorm : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    auto [centred, rooted] = matchNormalised(op);
    WithScalar shifted = rooted ? withScalar(rooted, BinaryKind::add) : WithScalar();
    if (!shifted || shifted.c < 0)
      return failure();
    int64_t axis = 0, meanAxis = 0;
    Value squares = meanInput(shifted.x, axis);
    Value base = squares ? squareInput(squares) : Value();
    if (!base || !sameDifference(base, centred) || centred.getType() != op.getType())
      return failure();
    auto epsilon = rewriter.getF64FloatAttr(shifted.c);
    auto axisAttr = rewriter.getI64IntegerAttr(axis);
    Location loc = fusedLocation(op, {squares, shifted.x});
    BinaryOp difference = binaryOf(centred, BinaryKind::sub);
    Value x = difference ? meanInput(difference.getRhs(), meanAxis) : Value();
    if (x && x == difference.getLhs() && meanAxis == axis)
      rewriter.replaceOp(op, LayerNormOp::create(rewriter, loc, op.getType(), x, Value(), Value(), axisAttr, epsilon));
    else
      rewriter.replaceOp(op, RmsNormOp::create(rewriter, loc, op.getType(), centred, Value(), axisAttr, epsilon));
    return success();
  }
};

/// The value broadcasts over the normalised dims only.
bool fitsNormalisedDims(Value value, Value input, uint64_t axis) {
  return broadcastsTo(dimsOf(value), dimsOf(input).drop_front(axis));
}

/// norm(x) * scale and (norm(x) * scale) + bias. A scale does not pass a bias that is already there.
struct AbsorbAffine : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    for (bool swapped : {false, true}) {
      Value norm = swapped ? op.getRhs() : op.getLhs(), vector = swapped ? op.getLhs() : op.getRhs();
      if (!norm.hasOneUse() || norm.getType() != op.getType())
        continue;
      Location loc = fusedLocation(op, {norm});
      auto layer = norm.getDefiningOp<LayerNormOp>();
      if (layer && !layer.getBias() && fitsNormalisedDims(vector, layer.getInput(), layer.getAxis())) {
        bool isScale = op.getKind() == BinaryKind::mul && !layer.getScale();
        if (!isScale && op.getKind() != BinaryKind::add)
          continue;
        rewriter.replaceOp(op, LayerNormOp::create(rewriter, loc, op.getType(), layer.getInput(),
                                                   isScale ? vector : layer.getScale(), isScale ? Value() : vector,
                                                   layer.getAxisAttr(), layer.getEpsilonAttr()));
        return success();
      }
      auto rms = norm.getDefiningOp<RmsNormOp>();
      if (rms && !rms.getScale() && op.getKind() == BinaryKind::mul &&
          fitsNormalisedDims(vector, rms.getInput(), rms.getAxis())) {
        rewriter.replaceOp(op, RmsNormOp::create(rewriter, loc, op.getType(), rms.getInput(), vector, rms.getAxisAttr(),
                                                 rms.getEpsilonAttr()));
        return success();
      }
    }
    return failure();
  }
};

struct RecomposeNormsPass : impl::RecomposeNormsBase<RecomposeNormsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FormNorm, AbsorbAffine>(&getContext());
    rewriteGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace gaudi::transforms
