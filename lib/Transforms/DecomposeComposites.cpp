//===- DecomposeComposites.cpp - composites to primitives ------------------===//
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
    SmallVector<GraphOpInterface> work;
    getOperation().walk([&](GraphOpInterface op) {
      StringRef mnemonic = op->getName().stripDialect();
      if (only.empty() || llvm::is_contained(only, mnemonic))
        work.push_back(op);
    });
    for (GraphOpInterface op : work) {
      OpBuilder builder(op);
      FailureOr<SmallVector<Value>> values = op.decompose(builder);
      if (failed(values)) // a primitive
        continue;
      op->replaceAllUsesWith(*values);
      op->erase();
    }
  }
};

} // namespace
} // namespace gaudi::transforms
