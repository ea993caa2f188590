//===- Loops.h - loops and row arithmetic of the emitters -------*- C++ -*-===//
#pragma once

#include "lib/Target/cpu/emit/Values.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace gaudi::cpu {

/// Enough elements per claimed task that claiming (about 0.1 us) does not show.
inline constexpr int64_t kElementsPerTask = 16384;

/// Rows [0, product of all dims but the last) of a tensor; the grid of row-wise kernels.
inline int64_t rowCount(llvm::ArrayRef<int64_t> dims) {
  int64_t rows = 1;
  for (int64_t d : dims.drop_back(dims.empty() ? 0 : 1))
    rows *= d;
  return rows;
}
inline int64_t rowLength(llvm::ArrayRef<int64_t> dims) { return dims.empty() ? 1 : dims.back(); }

/// Grid over rows, claimed in chunks of about kElementsPerTask, but at least one chunk per worker.
inline void sizeGrid(KernelPlan &plan, int64_t rows, int64_t elementsPerRow, unsigned threads) {
  plan.grid = static_cast<uint64_t>(rows);
  int64_t chunk = kElementsPerTask / std::max<int64_t>(elementsPerRow, 1);
  int64_t even = (rows + threads - 1) / threads;
  bool worthSplitting = rows * elementsPerRow >= kElementsPerTask;
  plan.chunk = static_cast<uint64_t>(std::max<int64_t>(worthSplitting ? std::min(chunk, even) : rows, 1));
}

/// Calls `body(index)` inside a new loop over [low, high) by `step`; the builder ends up behind the loop.
template <typename Body>
void forLoop(mlir::OpBuilder &b, mlir::Location loc, mlir::Value low, mlir::Value high, int64_t step, Body body) {
  auto loop = mlir::scf::ForOp::create(b, loc, low, high, mlir::arith::ConstantIndexOp::create(b, loc, step));
  mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

/// Row-major indices of row `row` over `dims` without the last; the last index is left for the caller.
Indices leadingIndices(mlir::OpBuilder &b, mlir::Location loc, mlir::Value row, llvm::ArrayRef<int64_t> dims);

/// Visits one row [0, n): full vectors of `width` elements, then scalars.
void forRow(mlir::OpBuilder &b, mlir::Location loc, int64_t n, int64_t width,
            llvm::function_ref<void(Index, int64_t width)> body);

/// Reduces one row with sum, max or min: `x` gives the registers at an index; returns the scalar.
mlir::Value reduceRow(mlir::OpBuilder &b, mlir::Location loc, int64_t n, int64_t width, graph::ReduceKind kind, mlir::Type type,
                      llvm::function_ref<mlir::Value(Index, int64_t width)> x);

} // namespace gaudi::cpu
