//===- Passes.cpp - the pass driver ---------------------------------------===//
#include "tools/gaudi-opt/Modes.h"

#include "dialects/graph/Graph.h"
#include "dialects/rt/Rt.h"
#include "lib/Target/cpu/Codegen.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Pipelines.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int gaudi::runPassDriver(int argc, char **argv) {
  mlir::DialectRegistry registry;
  cpu::registerCodegenDialects(registry);
  registry.insert<rt::RtDialect>();
  mlir::registerTransformsPasses();
  transforms::registerTransformsPasses();
  return mlir::failed(mlir::MlirOptMain(argc, argv, "gaudi-opt: passes over the graph and rt dialects\n", registry))
             ? static_cast<int>(StatusCode::Failed)
             : 0;
}
