//===- Locations.h - which value of the model is this? ----------*- C++ -*-===//
//
// Every op carries the ONNX node(s) it came from, for errors and profiles. An op whose result IS a value of the model
// (bit for bit what the node's output means, not a step towards it, not another layout of it) carries that value's name
// too, as the child of the node's name: loc("node"("value")). Such names are what two devices can be compared by.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Location.h"
#include "mlir/IR/ValueRange.h"

namespace gaudi::graph {

/// `node` (as the importer makes it: the node's NameLoc, perhaps fused with its operator) with the value's name.
mlir::Location withValueName(mlir::Location node, llvm::StringRef value);

/// The same nodes without value names: for ops that a rewrite makes on the way.
mlir::Location withoutValueName(mlir::Location loc);

/// `op` is about to be replaced by `values`: they compute what it computed, so the ops that define them get its value
/// name, unless they have one.
void passOnValueName(mlir::Operation *op, mlir::ValueRange values);

/// The value that an op at `loc` computes: the name in the last part of `loc`; empty if it has none.
llvm::StringRef valueName(mlir::Location loc);

} // namespace gaudi::graph
