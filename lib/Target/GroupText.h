//===- GroupText.h - a group as a module of its own -------------*- C++ -*-===//
#pragma once

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace gaudi {

/// A function at the builder that applies a copy of `group` to its arguments (one per operand, in order). No locations.
mlir::func::FuncOp cloneToFunction(mlir::OpBuilder &builder, graph::GroupOp group, llvm::StringRef name);

/// The group alone in a module, as text without locations: identifies the kernel, and moves it to another context.
std::string groupText(graph::GroupOp group);

} // namespace gaudi
