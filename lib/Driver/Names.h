//===- Names.h - names and dtypes shared by the driver's steps --*- C++ -*-===//
#pragma once

#include "gaudi/Tensor.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/Types.h"

#include <string>

namespace gaudi::driver {

/// What reports and profiles call a launch: its ONNX node names, the first three joined by " + ".
std::string launchName(mlir::Location loc);

/// The element type as the runtime knows it.
DType dtypeOf(mlir::Type elementType);

} // namespace gaudi::driver
