//===- Epilogue.h - pointwise ops behind a product --------------*- C++ -*-===//
#pragma once

#include "lib/Target/cpu/emit/Tiles.h"
#include "lib/Target/cpu/emit/Values.h"

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

/// True if the group is `op`, then ops that need only the element of `op` at their own place (reshapes of leading dims are
/// looked through), and has one result with the row space of `op`: [..., N].
bool hasEpilogueShape(graph::GroupOp group, mlir::Operation *op);

/// Writes tiles of `op`'s result through the rest of the group to the kernel's output.
class Epilogue {
public:
  Epilogue(graph::GroupOp group, mlir::Operation *op, KernelBuilder &kernel, TileBuilder &tiles);

  /// Rows [row, row + rows) and columns [column, column + columns) of the product are in `tile` (row pitch `pitch`).
  /// Rows count over all leading dims.
  void write(mlir::Value tile, int64_t pitch, mlir::Value row, int64_t rows, mlir::Value column, int64_t columns);
  void finish() { values.finish(); }

private:
  mlir::Value root, result;
  llvm::ArrayRef<int64_t> dims; ///< of the group's result
  TileBuilder &t;
  ElementEmitter values;
};

} // namespace gaudi::cpu
