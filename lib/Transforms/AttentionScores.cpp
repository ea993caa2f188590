//===- AttentionScores.cpp - scores and masks above a softmax --------------===//
#include "dialects/graph/Build.h"
#include "dialects/graph/Evaluate.h"
#include "lib/Transforms/Attention.h"
#include "lib/Transforms/Match.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {
namespace {

/// Deepest chain in models.md: two masks, two scales, two views and two casts.
constexpr int kMaxDepth = 12;

/// Adding a score to a number this low rounds back to it (half an ulp exceeds any sensible score), so filling and
/// adding are the same.
bool isLowest(double fill, Type type) { return fill <= (type.isF16() ? -6e4 : type.isF64() ? -1e18 : -1e9); }

bool keepsLastTwo(Value a, Value b) {
  return rankOf(a) >= 3 && rankOf(b) >= 3 && dimsOf(a).take_back(2) == dimsOf(b).take_back(2);
}

class ScoreWalk {
public:
  std::optional<Scores> from(Value value) {
    if (!walk(value, kMaxDepth))
      return std::nullopt;
    return std::move(scores);
  }

private:
  bool walk(Value value, int depth) {
    Operation *op = value.getDefiningOp();
    if (!op || depth == 0 || rankOf(value) < 3 || rankOf(value) > 4)
      return false;
    if (rankOf(value) == 4 && scores.headView.empty())
      scores.headView = dimsOf(value);
    if (auto product = dyn_cast<MatMulOp>(op)) {
      scores.product = product;
      return !product.getTransposeLhs();
    }
    if (WithScalar part = scaled(value)) {
      scores.scale *= part.c;
      return part.c > 0 && walk(part.x, depth - 1);
    }
    if (auto cast = dyn_cast<CastOp>(op))
      return isa<FloatType>(elementOf(cast.getInput())) && walk(cast.getInput(), depth - 1);
    if (auto view = dyn_cast<ReshapeOp>(op))
      return keepsLastTwo(view.getInput(), value) && walk(view.getInput(), depth - 1);
    if (auto select = dyn_cast<SelectOp>(op))
      return walkSelect(select, depth);
    BinaryOp add = binaryOf(value, BinaryKind::add);
    return add && (walkAdd(add, add.getLhs(), add.getRhs(), depth) || walkAdd(add, add.getRhs(), add.getLhs(), depth));
  }

  bool walkAdd(BinaryOp add, Value inner, Value mask, int depth) {
    if (!sameShape(inner, add.getResult()))
      return false;
    Scores saved = scores;
    scores.masks.push_back({MaskTerm::Add, mask, scores.scale, 0, dimsOf(inner)});
    if (walk(inner, depth - 1))
      return true;
    scores = std::move(saved);
    return false;
  }

  bool walkSelect(SelectOp op, int depth) {
    std::optional<double> onTrue = scalarOf(op.getOnTrue()), onFalse = scalarOf(op.getOnFalse());
    if (bool(onTrue) == bool(onFalse))
      return false;
    Value inner = onTrue ? op.getOnFalse() : op.getOnTrue();
    double fill = onTrue ? *onTrue : *onFalse;
    if (!sameShape(inner, op.getResult()))
      return false;
    bool infinite = std::isinf(fill) && fill < 0;
    if (!infinite && !isLowest(fill, elementOf(inner)))
      return false;
    auto kind = infinite ? (onTrue ? MaskTerm::Forbid : MaskTerm::Allow) : (onTrue ? MaskTerm::Fill : MaskTerm::Keep);
    scores.masks.push_back({kind, op.getCondition(), scores.scale, fill, dimsOf(inner)});
    return walk(inner, depth - 1);
  }

  Scores scores;
};

/// The mask seen as a tensor that broadcasts to [B, H, Sq, Skv]; nullopt if it does not. Nothing is built when the
/// ranks agree already.
std::optional<SmallVector<int64_t>> headDims(const MaskTerm &term, ArrayRef<int64_t> scores) {
  SmallVector<int64_t> dims(dimsOf(term.value));
  if (term.view.size() == 3 && dims.size() == 3) { // [N or 1, Sq, Skv], N = B * H
    bool perHead = dims[0] != 1;
    dims.insert(dims.begin(), perHead ? scores[0] : 1);
    dims[1] = perHead ? scores[1] : 1;
  }
  if (!broadcastsTo(dims, scores))
    return std::nullopt;
  return dims;
}

/// Allowed positions of a constant mask, or nullopt if it is neither 0 / lowest nor boolean.
std::optional<std::vector<bool>> allowedPositions(const MaskTerm &term) {
  std::optional<HostTensor> values = constantValue(term.value);
  if (!values)
    return std::nullopt;
  std::vector<bool> allowed;
  for (int64_t i = 0, n = values->elementCount(); i < n; ++i) {
    if (term.kind != MaskTerm::Add) {
      bool isTrue = values->ints()[i] != 0;
      allowed.push_back(term.kind == MaskTerm::Allow || term.kind == MaskTerm::Keep ? isTrue : !isTrue);
      continue;
    }
    if (!values->isFloat())
      return std::nullopt;
    double v = values->floats()[i];
    if (v != 0 && !isLowest(v * term.factor, elementOf(term.value)))
      return std::nullopt;
    allowed.push_back(v == 0);
  }
  return allowed;
}

/// Exactly the lower triangle, at either alignment, in every batch and head the constant spells out. Row 0 always sees
/// a key, so a finite fill means the same as -inf.
bool isCausal(const MaskTerm &term, ArrayRef<int64_t> scores, bool &bottomRight) {
  int64_t queries = scores[2], keys = scores[3];
  if (dimsOf(term.value).take_back(2) != scores.take_back(2) || queries * keys <= 1)
    return false;
  std::optional<std::vector<bool>> allowed = allowedPositions(term);
  if (!allowed)
    return false;
  for (bool bottom : {false, true}) {
    int64_t shift = bottom ? keys - queries : 0;
    bool matches = shift >= 0;
    for (int64_t at = 0, n = allowed->size(); matches && at < n; ++at) {
      int64_t i = at / keys % queries, j = at % keys;
      matches = (*allowed)[at] == (j <= i + shift);
    }
    if (matches) {
      bottomRight = bottom;
      return true;
    }
  }
  return false;
}

/// One term as an additive float mask.
Value asFloat(Build &g, const MaskTerm &term, Value value, Type type) {
  double fill = term.kind == MaskTerm::Forbid || term.kind == MaskTerm::Allow ? -std::numeric_limits<double>::infinity()
                                                                              : term.fill;
  switch (term.kind) {
  case MaskTerm::Add:
    return term.factor == 1 ? value : g.binary(BinaryKind::mul, value, g.scalar(term.factor, elementOf(value)));
  case MaskTerm::Forbid:
  case MaskTerm::Fill:
    return g.select(value, g.scalar(fill, type), g.scalar(0, type));
  case MaskTerm::Allow:
  case MaskTerm::Keep:
    return g.select(value, g.scalar(0, type), g.scalar(fill, type));
  }
  return {};
}

} // namespace

std::optional<Scores> matchScores(Value softmaxInput) { return ScoreWalk().from(softmaxInput); }

std::optional<CombinedMask> combineMasks(ArrayRef<MaskTerm> terms, ArrayRef<int64_t> scores, PatternRewriter &rewriter,
                                         Location loc) {
  CombinedMask mask;
  SmallVector<SmallVector<int64_t>> dims;
  bool allBool = true;
  Type floatType = rewriter.getF32Type();
  for (const MaskTerm &term : terms) {
    std::optional<SmallVector<int64_t>> own = headDims(term, scores);
    if (!own)
      return std::nullopt;
    dims.push_back(*own);
    allBool &= term.kind == MaskTerm::Forbid || term.kind == MaskTerm::Allow;
    if (term.kind == MaskTerm::Add)
      floatType = elementOf(term.value);
  }
  for (const MaskTerm &term : terms)
    if (term.kind == MaskTerm::Add && elementOf(term.value) != floatType)
      return std::nullopt; // masks of two float types: no export does this
  // Alone only: a second finite mask on top makes a fully masked row uniform over all keys, not over the visible ones.
  if (terms.size() == 1 && isCausal(terms[0], scores, mask.bottomRight)) {
    mask.causal = true;
    return mask;
  }
  Build g(rewriter, loc);
  // Innermost first: the sums then round as the model's did.
  for (auto [term, own] : llvm::reverse(llvm::zip(terms, dims))) {
    Value value = dimsOf(term.value) == ArrayRef(own) ? term.value : g.reshape(term.value, own);
    if (allBool) {
      Value allowed = term.kind == MaskTerm::Allow ? value : g.unary(UnaryKind::logical_not, value);
      mask.value = mask.value ? g.binary(BinaryKind::logical_and, mask.value, allowed) : allowed;
      continue;
    }
    Value added = asFloat(g, term, value, floatType);
    mask.value = mask.value ? g.binary(BinaryKind::add, mask.value, added) : added;
  }
  return mask;
}

} // namespace gaudi::transforms
