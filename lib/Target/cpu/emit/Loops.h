//===- Loops.h - plain loops and grids ---------------------------*- C++ -*-===//
#pragma once

#include "lib/Target/cpu/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace gaudi::cpu {

/// Enough elements per claimed task that claiming (about 0.1 us) does not show.
inline constexpr int64_t kElementsPerTask = 16384;

/// Rows [0, product of all dims but the last) of a tensor.
inline int64_t rowCount(llvm::ArrayRef<int64_t> dims) {
  int64_t rows = 1;
  for (int64_t d : dims.drop_back(dims.empty() ? 0 : 1))
    rows *= d;
  return rows;
}

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

/// A place in a row: `base`, or from there on a vector when `lane` is set.
struct Index {
  mlir::Value base;
  bool lane = false;
};

/// Visits one row [0, n): full vectors of `width` elements, then scalars.
void forRow(mlir::OpBuilder &b, mlir::Location loc, int64_t n, int64_t width,
            llvm::function_ref<void(Index, int64_t width)> body);

} // namespace gaudi::cpu
