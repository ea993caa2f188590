//===- Evaluate.h - reference interpreter over functions ------------------===//
#pragma once

#include "dialects/graph/HostTensor.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "mlir/Support/LLVM.h"

namespace gaudi::graph {

/// Bytes behind weight references. Implemented by lib/Import's WeightStore.
class WeightSource {
public:
  virtual ~WeightSource() = default;
  /// The bytes, or an empty ref (after emitting a diagnostic at `loc`) if the file is gone or too short.
  virtual llvm::ArrayRef<char> bytes(uint32_t file, uint64_t offset, uint64_t length, mlir::Location loc) = 0;
};

/// Values of dense constants; nullopt for weight references without a source and for non-constants.
std::optional<HostTensor> constantValue(mlir::Value value, WeightSource *weights = nullptr);

/// Runs the single block of `region` (a func.func body or a group) on `arguments`; `observe`, if set, sees every
/// result of every op in order. Emits a diagnostic and fails on an invalid value.
llvm::LogicalResult evaluateRegion(mlir::Region &region, llvm::ArrayRef<HostTensor> arguments,
                                   llvm::SmallVectorImpl<HostTensor> &results, WeightSource *weights,
                                   llvm::function_ref<void(mlir::OpResult, const HostTensor &)> observe = {});

} // namespace gaudi::graph
