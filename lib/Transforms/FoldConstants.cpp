//===- FoldConstants.cpp - evaluate ops on constants -----------------------===//
#include "lib/Transforms/Fold.h"
#include "lib/Transforms/Match.h"
#include "lib/Transforms/Passes.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

#define GEN_PASS_DEF_FOLDCONSTANTS
#include "lib/Transforms/Passes.h.inc"

namespace {

struct FoldConstantsPass : impl::FoldConstantsBase<FoldConstantsPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    // A weight rule can expose a constant (a gather that became a slice), so both alternate; two rounds settle all
    // models of models.md, the third is the check that nothing moves.
    for (int round = 0; round < 3; ++round) {
      bool changed = false;
      if (failed(sweep(func, changed)))
        return signalPassFailure();
      RewritePatternSet patterns(&getContext());
      addWeightPatterns(patterns);
      rewriteGreedily(func, std::move(patterns));
      if (!changed)
        break;
    }
    updateReturnTypes(func);
  }

  static LogicalResult sweep(func::FuncOp func, bool &changed) {
    for (Operation &op : func.getBody().front().without_terminator())
      if (!op.use_empty()) {
        changed |= operandsToAttributes(&op);
        FailureOr<bool> folded = foldOp(&op);
        if (failed(folded))
          return failure();
        changed |= *folded;
      }
    eraseDead(func);
    return success();
  }
};

} // namespace
} // namespace gaudi::transforms
