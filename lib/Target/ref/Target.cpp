//===- Target.cpp - the reference target ----------------------------------===//
#include "lib/Target/ref/Target.h"

#include "lib/Target/GroupText.h"
#include "lib/Transforms/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace gaudi;

namespace {

class ReferenceTarget : public Target {
public:
  TargetInfo info() const override { return {"ref", "", "", {}}; }
  void buildPipeline(OpPassManager &pm) const override { transforms::buildReferencePipeline(pm); }
  LogicalResult claimGroups(func::FuncOp, unsigned) const override { return success(); }

  Expected<BuildResult> build(func::FuncOp main, const BuildOptions &options) const override {
    OpBuilder b(main.getContext());
    OwningOpRef<ModuleOp> code = ModuleOp::create(b.getUnknownLoc());
    b.setInsertionPointToStart(code->getBody());
    llvm::StringMap<std::string> symbols; // by text
    BuildResult result;
    for (auto group : main.getOps<graph::GroupOp>()) {
      std::string &symbol = symbols[groupText(group)];
      if (symbol.empty()) {
        symbol = "op_" + std::to_string(symbols.size());
        cloneToFunction(b, group, symbol);
      }
      BuiltKernel kernel{symbol, {}};
      kernel.plan.inputLayouts.resize(group.getInputs().size());
      kernel.plan.inPlace.resize(group->getNumResults());
      result.kernels.push_back(std::move(kernel));
    }
    result.distinct = result.compiled = symbols.size();
    std::string text;
    llvm::raw_string_ostream out(text);
    code->print(out);
    if (options.printKernels)
      *options.printKernels << text;
    result.code.assign(text.begin(), text.end());
    return result;
  }
};

} // namespace

std::unique_ptr<Target> ref::createTarget() { return std::make_unique<ReferenceTarget>(); }
