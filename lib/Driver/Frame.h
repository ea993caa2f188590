//===- Frame.h - from grouped graph to the rt program -----------*- C++ -*-===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/rt/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace gaudi::driver {

/// What the frame needs to know about the kernel of one group.
struct GroupKernel {
  std::string symbol;
  uint64_t grid = 1, chunk = 1, scratchBytes = 0;
  /// Per group operand: packed layout wanted, or null.
  llvm::SmallVector<rt::PanelsAttr> inputPanels;
  /// Per group result: operands whose storage it may take over.
  llvm::SmallVector<llvm::SmallVector<int64_t>> inPlace;
};

/// Kernel of each group in @main.
using GroupKernels = llvm::DenseMap<mlir::Operation *, GroupKernel>;

/// The value behind reshapes: what really owns the storage.
mlir::Value storageOf(mlir::Value value);

/// Inserts copy groups so that every result of `main` is produced by a group (through reshapes at most) of its own:
/// results that are inputs, constants, or returned twice. Run before kernels are built.
void materializeResults(mlir::func::FuncOp main);

/// Translates @main (constants, reshapes, groups, return: the `grouped` stage) to an rt module. Reshapes become the
/// same buffer; a group result that is returned is written straight into the caller's memory. Null after a diagnostic:
/// another op.
mlir::OwningOpRef<mlir::ModuleOp> buildFrame(mlir::func::FuncOp main, const GroupKernels &kernels);

/// Bytes of a tensor in memory: row-major, one byte per i1.
uint64_t sizeBytes(mlir::RankedTensorType type);

} // namespace gaudi::driver
