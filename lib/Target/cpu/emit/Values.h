//===- Values.h - the value of any tensor of a group at given indices -----===//
//
// The fall-back that makes every primitive compile, and the producer side of the pointwise and rows emitters: instead of
// materialising intermediates, an element is computed where it is needed by walking the group backwards.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lib/Target/cpu/Kernel.h"
#include "lib/Target/cpu/emit/ElementOps.h"

#include <functional>

namespace gaudi::cpu {

/// One index of an element: `base`, or the `width` consecutive values base, base+1, ... when `lane` is set. At most one
/// index of an access has the lane, and only where lanesRegular() allowed it.
struct Index {
  mlir::Value base;
  bool lane = false;
};
using Indices = llvm::SmallVector<Index>;

/// True if every leaf access of `tensor` is contiguous, or constant, along the lane of its last dim: then code for it can
/// be vectorised along that dim.
bool lanesRegular(mlir::Value tensor);

/// True if the group's body holds only ops that elementAt can compute.
bool canComputeElements(graph::GroupOp group);

class ElementEmitter {
public:
  /// `fault` receives KernelFault::IndexOutOfRange (memref<1xi32>); null if the group gathers nothing.
  ElementEmitter(KernelBuilder &kernel, graph::GroupOp group);

  /// `tensor` at `indices` (one per dim) in registers of `width` elements (1 = scalars).
  mlir::Value at(mlir::Value tensor, llvm::ArrayRef<Index> indices, int64_t width);
  /// Stores registers to result number `result`.
  void store(unsigned result, mlir::Value value, llvm::ArrayRef<Index> indices, int64_t width);

  /// From now on `tensor` is given by this function (a row statistic, a scratch row).
  using Override = std::function<mlir::Value(llvm::ArrayRef<Index>, int64_t width)>;
  void override(mlir::Value tensor, Override value) { overrides[tensor] = std::move(value); }

  /// Ends the kernel: returns the fault code. Call at the end of the function's entry block.
  void finish();

private:
  mlir::Value load(mlir::Value memref, mlir::Type element, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value constantAt(graph::ConstantOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value broadcastAt(mlir::Value operand, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value binaryAt(graph::BinaryOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value unaryAt(graph::UnaryOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value castAt(graph::CastOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value reshapeAt(graph::ReshapeOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value sliceAt(graph::SliceOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value concatAt(graph::ConcatOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value padAt(graph::PadOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value triluAt(graph::TriluOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value gatherAt(graph::GatherOp op, llvm::ArrayRef<Index> indices, int64_t width);
  mlir::Value gatherElementsAt(graph::GatherElementsOp op, llvm::ArrayRef<Index> indices);
  mlir::Value reduceAt(graph::ReduceOp op, llvm::ArrayRef<Index> indices);
  mlir::Value argReduceAt(graph::ArgReduceOp op, llvm::ArrayRef<Index> indices);
  mlir::Value matmulAt(graph::MatMulOp op, llvm::ArrayRef<Index> indices);
  mlir::Value cumsumAt(graph::CumSumOp op, llvm::ArrayRef<Index> indices);

  mlir::Value indexConstant(int64_t value);
  mlir::Value zero(mlir::Type type);
  /// A checked index in [0, n): negative ones wrap, bad ones set the fault and become 0.
  mlir::Value checkedIndex(mlir::Value raw, int64_t n);
  mlir::Value conditionLanes(Index row, Index column, int64_t offset, bool upper, int64_t width);

  KernelBuilder &k;
  mlir::OpBuilder &b;
  mlir::Location loc;
  llvm::DenseMap<mlir::Value, unsigned> argument; ///< block argument -> operand number
  llvm::DenseMap<mlir::Value, Override> overrides;
  llvm::SmallVector<mlir::Type> resultElement; ///< per result of the group, as in the graph
  mlir::Value fault;
};

} // namespace gaudi::cpu
