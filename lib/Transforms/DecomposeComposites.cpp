//===- DecomposeComposites.cpp - composites to primitives ------------------===//
#include "dialects/graph/Locations.h"
#include "lib/Transforms/Passes.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

#define GEN_PASS_DEF_DECOMPOSECOMPOSITES
#include "lib/Transforms/Passes.h.inc"

namespace {

struct DecomposeCompositesPass : impl::DecomposeCompositesBase<DecomposeCompositesPass> {
  using DecomposeCompositesBase::DecomposeCompositesBase;

  void runOnOperation() override {
    // A decomposition may use other composites (attention uses softmax); nesting is two deep today.
    for (int round = 0; round < 4 && decomposeAll(); ++round) {
    }
  }

  bool decomposeAll() {
    SmallVector<GraphOpInterface> work;
    getOperation().walk([&](GraphOpInterface op) {
      if (only.empty() || llvm::is_contained(only, op->getName().stripDialect()))
        work.push_back(op);
    });
    bool changed = false;
    for (GraphOpInterface op : work) {
      OpBuilder builder(op);
      FailureOr<SmallVector<Value>> values = op.decompose(builder);
      if (failed(values)) // a primitive
        continue;
      passOnValueName(op, *values);
      op->replaceAllUsesWith(*values);
      op->erase();
      changed = true;
    }
    return changed;
  }
};

} // namespace
} // namespace gaudi::transforms
