//===- Run.h - executes the checks of a module ----------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace gaudi::graph {
class WeightSource;
}

namespace gaudi::check {

/// Evaluates every func.func that has no arguments and contains a check, and emits one error per check that does not
/// hold, with its worst element. `weights` may be null (weight references then fail). Fails if any check failed or a
/// function could not be evaluated.
llvm::LogicalResult runChecks(mlir::ModuleOp module, graph::WeightSource *weights);

} // namespace gaudi::check
