//===- AbsorbHeads.cpp - attention in the layout [B, S, H, D] --------------===//
//
//   x --reshape [B,S,H,D]--transpose(0,2,1,3)--> attention heads_first --transpose(0,2,1,3)--reshape [B,S,H*D]--> y
//
// becomes an attention without heads_first between the two reshapes, which are views: no element moves.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Build.h"
#include "lib/Transforms/Attention.h"
#include "lib/Transforms/Match.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {
namespace {

constexpr int64_t kSwapHeads[] = {0, 2, 1, 3};

bool isHeadSwap(Operation *op) {
  auto transpose = dyn_cast_or_null<TransposeOp>(op);
  return transpose && transpose.getPermutation() == ArrayRef(kSwapHeads);
}

/// Swapping a unit dim moves nothing.
bool isFreeSwap(Value value) { return dimsOf(value)[1] == 1 || dimsOf(value)[2] == 1; }

/// Transposes that go away (+1) or come up (-1) at this border when the layout changes.
int gainOfInput(Value value) {
  if (isHeadSwap(value.getDefiningOp()))
    return 1;
  return isFreeSwap(value) ? 0 : -1;
}

int gainOfResult(Value value) {
  if (isFreeSwap(value))
    return 0;
  return !value.use_empty() && llvm::all_of(value.getUsers(), isHeadSwap) ? 1 : -1;
}

struct AbsorbHeads : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    if (!op.getHeadsFirst() || !tensorType(op.getResult()).hasStaticShape())
      return failure();
    int gain = gainOfInput(op.getQuery()) + gainOfInput(op.getKey()) + gainOfInput(op.getValue()) +
               gainOfResult(op.getResult());
    bool isTrivial = isFreeSwap(op.getQuery()) && isFreeSwap(op.getKey()) && isFreeSwap(op.getValue());
    if (gain < 0 || (gain == 0 && !isTrivial)) // trivial: one canonical layout, so that equal kernels look equal
      return failure();
    Build g(rewriter, op.getLoc());
    auto swapped = [&](Value v) { return g.transpose(v, kSwapHeads); }; // merges with the one above it
    auto result = AttentionOp::create(rewriter, g.loc, swapped(op.getQuery()), swapped(op.getKey()),
                                      swapped(op.getValue()), op.getMask(), op.getScale(), /*heads_first=*/false,
                                      op.getCausal(), op.getBottomRight(), op.getZeroMaskedRows());
    rewriter.replaceOp(op, swapped(result.getResult()));
    return success();
  }
};

} // namespace

void addAbsorbHeadsPatterns(RewritePatternSet &patterns) { patterns.add<AbsorbHeads>(patterns.getContext()); }

} // namespace gaudi::transforms
