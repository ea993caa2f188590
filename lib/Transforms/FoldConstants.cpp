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
    // Patterns first: they keep constants small (rows of a table before a gather spells them out). Each can expose work
    // for the other; two rounds settle all models of models.md, the third is the check that nothing moves.
    for (int round = 0; round < 3; ++round) {
      RewritePatternSet patterns(&getContext());
      addWeightPatterns(patterns);
      addConstantGatherPatterns(patterns);
      rewriteGreedily(func, std::move(patterns));
      bool changed = false;
      if (failed(sweep(func, changed)))
        return signalPassFailure();
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
