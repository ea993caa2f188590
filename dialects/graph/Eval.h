//===- Eval.h - index helpers of the evaluator (private to dialects/graph) ===//
#pragma once

#include "dialects/graph/HostTensor.h"
#include "dialects/graph/Graph.h"

namespace gaudi::graph {

/// Row-major strides in elements.
inline llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Walks `dims` in row-major order, keeping the element offset of a strided operand.
struct StridedIndex {
  llvm::SmallVector<int64_t> dims, strides, index;
  int64_t offset = 0;

  StridedIndex(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> strides, int64_t start = 0)
      : dims(dims), strides(strides), index(dims.size(), 0), offset(start) {}

  void next() {
    for (size_t i = dims.size(); i-- > 0;) {
      offset += strides[i];
      if (++index[i] < dims[i])
        return;
      offset -= strides[i] * dims[i];
      index[i] = 0;
    }
  }
};

/// StridedIndex of a numpy-broadcast operand.
struct BroadcastIndex : StridedIndex {
  BroadcastIndex(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims) : StridedIndex(dims, broadcast(shape, dims)) {}

private:
  static llvm::SmallVector<int64_t> broadcast(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims) {
    llvm::SmallVector<int64_t> own = stridesOf(shape), result(dims.size(), 0);
    size_t lead = dims.size() - shape.size();
    for (size_t i = 0; i < shape.size(); ++i)
      result[lead + i] = shape[i] == 1 ? 0 : own[i];
    return result;
  }
};

/// The op's static result type; diagnoses a dynamic one.
inline mlir::FailureOr<mlir::RankedTensorType> staticResult(mlir::Operation *op, unsigned index = 0) {
  auto type = llvm::cast<mlir::RankedTensorType>(op->getResult(index).getType());
  if (!type.hasStaticShape())
    return op->emitOpError("cannot be evaluated: result shape is not known yet");
  return type;
}

/// Softmax (or its log) of `n` values `stride` apart, in place.
void softmaxLane(double *data, int64_t n, int64_t stride, bool log);

/// The elements of `source` at `strides` from `start`, in row-major order of `type`.
HostTensor gatherStrided(const HostTensor &source, mlir::RankedTensorType type, llvm::ArrayRef<int64_t> strides,
                         int64_t start = 0);

} // namespace gaudi::graph
