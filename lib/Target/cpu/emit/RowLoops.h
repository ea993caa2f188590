//===- RowLoops.h - passes over one row -------------------------*- C++ -*-===//
#pragma once

#include "lib/Target/cpu/emit/PieceLoops.h"

namespace gaudi::cpu {

/// Loops along the run of the fused emitter's space: vectors, then one masked vector or scalars.
class RowLoops {
public:
  RowLoops(FusedEmitter &fused, int64_t length, int64_t width, bool masks)
      : f(fused), n(length), width(width), masks(masks) {}

  /// Visits the row once; `contribute` gives one f32 register of the current width per reduction. Several accumulators
  /// per reduction hide the latency of the addition. Returns scalars.
  llvm::SmallVector<mlir::Value> reduce(llvm::ArrayRef<graph::ReduceKind> kinds,
                                        llvm::function_ref<llvm::SmallVector<mlir::Value>()> contribute);
  /// Visits the row once.
  void visit(llvm::function_ref<void()> body);

  /// f32 rows in scratch, padded so that whole vectors may be stored at the end.
  static int64_t paddedBytes(int64_t length) { return static_cast<int64_t>(llvm::alignTo(length * 4, 64)); }
  mlir::Value load(mlir::Value row);
  void store(mlir::Value row, mlir::Value x);

private:
  using Values = llvm::SmallVector<mlir::Value>;
  Values loop(mlir::Value low, mlir::Value high, int64_t step, Values carried,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  mlir::Value index(int64_t v);
  mlir::Value runValue();

  FusedEmitter &f;
  int64_t n, width, current = 1;
  bool masks;
};

} // namespace gaudi::cpu
