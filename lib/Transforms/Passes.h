//===- Passes.h - passes over the graph dialect ------------------*- C++ -*-===//
#pragma once

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace gaudi::transforms {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Passes.h.inc"

/// Registers the passes and the pipeline `graph-pipeline` for the command line.
void registerTransformsPasses();

} // namespace gaudi::transforms
