//===- RecomposeAttention.cpp - attention by structure ---------------------===//
//
//   q --(* c)--\
//               matmul --(* c)--(reshape)--(+ mask)--(select mask)--softmax--(NaN -> 0)--(reshape)--\
//   k --(* c)--/                                                                                     matmul -> out
//        transposed, directly or through [-1, s, d]                                             v --/
//
// Everything in parentheses is optional and may repeat. Names, ranks (3 or 4) and the place of the scale do not matter.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Build.h"
#include "lib/Transforms/Attention.h"
#include "lib/Transforms/Match.h"
#include "lib/Transforms/Passes.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

#define GEN_PASS_DEF_RECOMPOSEATTENTION
#include "lib/Transforms/Passes.h.inc"

namespace {

SmallVector<int64_t> swappedPermutation(int64_t rank) {
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  return permutation;
}

/// A scaled value lies behind `value`, at most a head split (reshape, transpose, reshape) away.
bool hasScale(Value value) {
  for (int depth = 0; depth < 4; ++depth) {
    if (scaled(value))
      return true;
    Operation *view = value.getDefiningOp();
    if (!isa_and_present<ReshapeOp, TransposeOp>(view))
      return false;
    value = view->getOperand(0);
  }
  return false;
}

/// Query without its scalar factors, which go to `scale`. Views on the way are built again on the unscaled value.
Value peelScale(Build &g, Value value, double &scale) {
  while (WithScalar part = scaled(value)) {
    scale *= part.c;
    value = part.x;
  }
  if (!hasScale(value))
    return value;
  if (auto transpose = value.getDefiningOp<TransposeOp>())
    return g.transpose(peelScale(g, transpose.getInput(), scale), transpose.getPermutation());
  return g.reshape(peelScale(g, value.getDefiningOp()->getOperand(0), scale), dimsOf(value));
}

/// Key [.., S, D] from its transpose [.., D, S]. Transposes built here merge with the exporter's and vanish.
Value transposedKey(Build &g, Value value, double &scale) {
  if (WithScalar part = scaled(value)) {
    scale *= part.c;
    return transposedKey(g, part.x, scale);
  }
  auto view = value.getDefiningOp<ReshapeOp>();
  int64_t rank = rankOf(value);
  if (view && rankOf(view.getInput()) >= 3 && dimsOf(view.getInput()).take_back(2) == dimsOf(value).take_back(2)) {
    SmallVector<int64_t> dims(dimsOf(value));
    std::swap(dims[rank - 1], dims[rank - 2]);
    return g.reshape(transposedKey(g, view.getInput(), scale), dims);
  }
  return g.transpose(value, swappedPermutation(rank));
}

/// The softmax result behind views, casts and the fix-up of fully masked rows.
SoftmaxOp findSoftmax(Value value, bool &zeroMaskedRows) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto softmax = dyn_cast<SoftmaxOp>(op)) {
      bool fits = !softmax.getLog() && static_cast<int64_t>(softmax.getAxis()) == rankOf(value) - 1;
      return fits ? softmax : SoftmaxOp();
    }
    if (auto select = dyn_cast<SelectOp>(op)) { // isnan(p) ? 0 : p
      if (!isScalar(select.getOnTrue(), 0) ||
          unaryInput(select.getCondition(), UnaryKind::is_nan) != select.getOnFalse())
        return {};
      zeroMaskedRows = true;
      value = select.getOnFalse();
      continue;
    }
    bool isView = isa<ReshapeOp>(op) && rankOf(op->getOperand(0)) >= 3 &&
                  dimsOf(op->getOperand(0)).take_back(2) == dimsOf(value).take_back(2);
    if (!isView && !isa<CastOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// Nobody else sees the probabilities (models that return them keep their primitives).
bool isPrivate(SoftmaxOp softmax, bool zeroMaskedRows) {
  unsigned uses = std::distance(softmax->getUses().begin(), softmax->getUses().end());
  return uses == (zeroMaskedRows ? 2u : 1u);
}

/// [B, H] from a rank-4 value or view, else from the reshape [B, H, S, D] -> [B*H, S, D] of the query, else [N, 1].
std::pair<int64_t, int64_t> batchAndHeads(const Scores &scores, Value query) {
  if (!scores.headView.empty())
    return {scores.headView[0], scores.headView[1]};
  if (auto view = query.getDefiningOp<ReshapeOp>(); view && rankOf(view.getInput()) == 4) {
    ArrayRef<int64_t> dims = dimsOf(view.getInput());
    if (dims.take_back(2) == dimsOf(query).take_back(2))
      return {dims[0], dims[1]};
  }
  return {dimsOf(query)[0], 1};
}

Value withHeads(Build &g, Value value, int64_t batch, int64_t heads) {
  if (rankOf(value) == 4)
    return value;
  return g.reshape(value, {batch, heads, dimsOf(value)[1], dimsOf(value)[2]});
}

struct FormAttention : OpRewritePattern<MatMulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatMulOp op, PatternRewriter &rewriter) const override {
    bool zeroMaskedRows = false;
    SoftmaxOp softmax = op.getTransposeLhs() ? SoftmaxOp() : findSoftmax(op.getLhs(), zeroMaskedRows);
    if (!softmax || !isPrivate(softmax, zeroMaskedRows))
      return failure();
    std::optional<Scores> scores = matchScores(softmax.getInput());
    if (!scores || !shapesFit(op, scores->product))
      return failure();

    Value q = scores->product.getLhs();
    auto [batch, heads] = batchAndHeads(*scores, q);
    int64_t queries = dimsOf(scores->product.getResult()).take_back(2)[0],
            keys = dimsOf(scores->product.getResult()).back();
    int64_t lead = rankOf(q) == 4 ? dimsOf(q)[0] * dimsOf(q)[1] : dimsOf(q)[0];
    if (lead != batch * heads || (rankOf(q) == 4 && (dimsOf(q)[0] != batch || dimsOf(q)[1] != heads)))
      return failure();
    Location loc = fusedLocation(op, {scores->product.getResult(), softmax.getResult()});
    std::optional<CombinedMask> mask = combineMasks(scores->masks, {batch, heads, queries, keys}, rewriter, loc);
    if (!mask)
      return failure();

    Build g(rewriter, loc);
    double scale = scores->scale;
    q = peelScale(g, q, scale);
    Value k = scores->product.getTransposeRhs() ? peelScale(g, scores->product.getRhs(), scale)
                                                : transposedKey(g, scores->product.getRhs(), scale);
    Value v = op.getTransposeRhs() ? g.transpose(op.getRhs(), swappedPermutation(rankOf(op.getRhs()))) : op.getRhs();
    auto attention = AttentionOp::create(rewriter, loc, withHeads(g, q, batch, heads), withHeads(g, k, batch, heads),
                                         withHeads(g, v, batch, heads), mask->value, APFloat(scale),
                                         /*heads_first=*/true, mask->causal, mask->bottomRight, zeroMaskedRows);
    Value result = attention.getResult();
    if (result.getType() != op.getType())
      result = g.reshape(result, dimsOf(op.getResult()));
    rewriter.replaceOp(op, result);
    return success();
  }

  /// Static, one float type, equal batch dims everywhere (no broadcasting of heads).
  static bool shapesFit(MatMulOp values, MatMulOp product) {
    Value all[] = {product.getLhs(), product.getRhs(), values.getRhs(), values.getResult()};
    int64_t rank = rankOf(product.getLhs());
    if (rank != 3 && rank != 4)
      return false;
    int64_t lead = 1;
    for (int64_t dim : dimsOf(product.getLhs()).drop_back(2))
      lead *= dim;
    for (Value value : all) {
      auto type = tensorType(value);
      if (!type.hasStaticShape() || (type.getRank() != 3 && type.getRank() != 4) ||
          !isa<FloatType>(type.getElementType()) || type.getElementType() != elementOf(product.getLhs()))
        return false;
      int64_t own = 1;
      for (int64_t dim : type.getShape().drop_back(2))
        own *= dim;
      if (own != lead)
        return false;
    }
    return dimsOf(product.getLhs()).drop_back(2) == dimsOf(product.getRhs()).drop_back(2);
  }
};

struct RecomposeAttentionPass : impl::RecomposeAttentionBase<RecomposeAttentionPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet form(context);
    form.add<FormAttention>(context);
    rewriteGreedily(getOperation(), std::move(form));
    // Views and transposes that met must merge first: only then is a head split recognisable.
    RewritePatternSet absorb(context);
    addAbsorbHeadsPatterns(absorb);
    ReshapeOp::getCanonicalizationPatterns(absorb, context);
    TransposeOp::getCanonicalizationPatterns(absorb, context);
    rewriteGreedily(getOperation(), std::move(absorb));
  }
};

} // namespace
} // namespace gaudi::transforms
