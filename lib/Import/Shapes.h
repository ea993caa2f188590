//===- Shapes.h - input shapes from the model and from flags ----*- C++ -*-===//
#pragma once

#include "lib/Import/Import.h"

#include "mlir/IR/Types.h"

namespace onnx {
class ValueInfoProto;
}

namespace gaudi::import {

/// An input as the model declares it.
struct InputInfo {
  std::string name;
  mlir::Type element;
  llvm::SmallVector<int64_t> dims;       ///< kDynamic where symbolic
  std::vector<std::string> symbols;      ///< per dim: its dim_param or ""
};

/// Errors: Unsupported for types we have no tensors of.
Expected<InputInfo> describeInput(mlir::MLIRContext &context, const ::onnx::ValueInfoProto &info);

/// Applies --shape and --dim. Usage errors name the nearest input or dim.
Status applyShapes(std::vector<InputInfo> &inputs, const ImportOptions &options);

} // namespace gaudi::import
