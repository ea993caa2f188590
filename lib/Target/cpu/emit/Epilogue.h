//===- Epilogue.h - pointwise ops behind a product --------------*- C++ -*-===//
#pragma once

#include "lib/Target/cpu/emit/Tiles.h"

namespace gaudi::cpu {

/// The only op of its kind in the group's body, or null.
template <typename OpT> OpT soleOp(graph::GroupOp group) {
  OpT found;
  for (OpT op : group.getBody().front().template getOps<OpT>()) {
    if (found)
      return {};
    found = op;
  }
  return found;
}

/// Sends tiles of a product's sums through the rest of the group to the kernel's output.
class Epilogue {
public:
  /// True if the group is `op` and pointwise ops on floats and bools (reshapes that keep the last dim are looked
  /// through), each of whose other operands is a scalar, one value per column, or a tensor of the whole shape.
  static bool fits(graph::GroupOp group, graph::MatMulOp op);
  /// Operands of the whole shape and the result's type: each element is read just before the same one is written.
  static llvm::SmallVector<unsigned> inPlaceOperands(graph::GroupOp group, graph::MatMulOp op);
  /// Scratch for one tile, 0 where the sums stay in registers.
  static uint64_t scratchBytes(graph::GroupOp group, int64_t rows, int64_t vectors, int64_t lanes);

  /// `scratchAt`: byte offset of scratchBytes() in the scratch.
  Epilogue(graph::GroupOp group, graph::MatMulOp op, KernelBuilder &kernel, TileBuilder &tiles, uint64_t scratchAt,
           int64_t rows, int64_t vectors);

  /// `sums` are rows x vectors accumulators at (row, column); rows count over all leading dims. `masks`: per vector,
  /// null for whole ones.
  void write(llvm::ArrayRef<mlir::Value> sums, mlir::Value row, int64_t rows, mlir::Value column,
             llvm::ArrayRef<mlir::Value> masks);

  /// The same for rows [begin, end) whose sums lie in `memory`, row `begin` at `at`, `pitch` floats apart.
  void writeRows(mlir::Value memory, mlir::Value at, int64_t pitch, mlir::Value begin, mlir::Value end,
                 mlir::Value column, llvm::ArrayRef<mlir::Value> masks);

private:
  struct Place {
    mlir::Value sum, element, column, mask; ///< element = row * n + column
    llvm::DenseMap<mlir::Value, mlir::Value> known;
  };
  void writeVector(mlir::Value sum, mlir::Value rowAt, mlir::Value column, mlir::Value mask);
  mlir::Value at(mlir::Value value, Place &place);
  mlir::Value compute(mlir::Value value, Place &place);
  mlir::Value load(unsigned argument, Place &place);

  graph::GroupOp group;
  mlir::Value product;
  KernelBuilder &kernel;
  TileBuilder &t;
  int64_t columns;
  mlir::Value tile; ///< scratch, or null
};

} // namespace gaudi::cpu
