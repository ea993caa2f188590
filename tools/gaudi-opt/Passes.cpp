//===- Passes.cpp - the pass driver ---------------------------------------===//
#include "tools/gaudi-opt/Modes.h"

#include "dialects/check/Check.h"
#include "dialects/check/Run.h"
#include "dialects/graph/Graph.h"
#include "dialects/rt/Rt.h"
#include "lib/Target/cpu/Codegen.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

namespace {

/// check.expect_* are judged by the reference evaluator.
struct RunChecks : mlir::PassWrapper<RunChecks, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RunChecks)
  llvm::StringRef getArgument() const override { return "run-checks"; }
  llvm::StringRef getDescription() const override {
    return "evaluate functions without arguments and judge their check ops";
  }
  void runOnOperation() override {
    if (mlir::failed(gaudi::check::runChecks(getOperation(), nullptr)))
      signalPassFailure();
  }
};

} // namespace

int gaudi::runPassDriver(int argc, char **argv) {
  mlir::DialectRegistry registry;
  cpu::registerCodegenDialects(registry);
  registry.insert<rt::RtDialect, check::CheckDialect>();
  mlir::registerTransformsPasses();
  transforms::registerTransformsPasses();
  mlir::PassRegistration<RunChecks>();
  return mlir::failed(mlir::MlirOptMain(argc, argv, "gaudi-opt: passes over the graph and rt dialects\n", registry))
             ? static_cast<int>(StatusCode::Failed)
             : 0;
}
