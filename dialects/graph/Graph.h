//===- Graph.h - the graph dialect ------------------------------*- C++ -*-===//
#pragma once

#include "dialects/graph/HostTensor.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/graph/GraphDialect.h.inc"
#include "dialects/graph/GraphEnums.h.inc"
#include "dialects/graph/GraphInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/graph/GraphOps.h.inc"

namespace gaudi::graph {

/// Shape, bound and pad operands of reshape, broadcast, slice and pad that are constant become attributes, the only
/// form that targets see. Result types stay as they are. True if any did.
bool foldShapeOperands(mlir::Operation *op);

} // namespace gaudi::graph
