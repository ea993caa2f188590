//===- Eval.h - index helpers of the evaluator (private to dialects/graph) ===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/HostTensor.h"

#include <array>

namespace gaudi::graph {

/// Row-major strides in elements.
inline llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Strides that walk `shape` over the dims it broadcasts to: 0 along broadcast dims.
inline llvm::SmallVector<int64_t> broadcastStrides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims) {
  llvm::SmallVector<int64_t> own = stridesOf(shape), result(dims.size(), 0);
  size_t lead = dims.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    result[lead + i] = shape[i] == 1 ? 0 : own[i];
  return result;
}

/// Calls fn(i, offsets) for the i-th index of `dims` in row-major order; offsets[n] = start[n] + index . strides[n].
/// The innermost dim is a plain loop: this is where the evaluator spends its time outside of matmul.
template <size_t N, typename Fn>
void forEachElement(llvm::ArrayRef<int64_t> dims, const std::array<llvm::SmallVector<int64_t>, N> &strides,
                    std::array<int64_t, N> start, Fn fn) {
  if (llvm::is_contained(dims, 0))
    return;
  size_t outer = dims.empty() ? 0 : dims.size() - 1;
  int64_t inner = dims.empty() ? 1 : dims.back(), i = 0;
  std::array<int64_t, N> step{};
  for (size_t n = 0; n < N && !dims.empty(); ++n)
    step[n] = strides[n].back();
  llvm::SmallVector<int64_t> index(outer, 0);
  while (true) {
    std::array<int64_t, N> at = start;
    for (int64_t j = 0; j < inner; ++j) {
      fn(i++, at);
      for (size_t n = 0; n < N; ++n)
        at[n] += step[n];
    }
    size_t d = outer;
    for (; d-- > 0;) {
      bool carry = ++index[d] == dims[d];
      for (size_t n = 0; n < N; ++n)
        start[n] += strides[n][d] * (carry ? 1 - dims[d] : 1);
      if (!carry)
        break;
      index[d] = 0;
    }
    if (d == size_t(-1)) // every outer dim wrapped
      return;
  }
}

/// Calls fn(out data, data of one operand), both double or both int64_t.
template <typename Fn> void withData(HostTensor &out, const HostTensor &x, Fn fn) {
  if (out.isFloat())
    fn(out.floats(), x.floats());
  else
    fn(out.ints(), x.ints());
}

/// a < b as `type` orders its values; ui64 lives wrapped in int64.
inline bool intLess(int64_t a, int64_t b, mlir::Type type) {
  return type.isUnsignedInteger(64) ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

/// A zero tensor, or a diagnostic at `op` when no sane machine could hold it.
mlir::FailureOr<HostTensor> allocate(mlir::Operation *op, llvm::ArrayRef<int64_t> dims, mlir::Type element);

/// Softmax (or its log) of `n` values `stride` apart, in place.
void softmaxLane(double *data, int64_t n, int64_t stride, bool log);

/// Fills `out` with the elements of `source` at `strides` from `start`, in row-major order of out's shape.
HostTensor gatherStrided(const HostTensor &source, HostTensor out, llvm::ArrayRef<int64_t> strides, int64_t start = 0);

/// Hands a finished result over, rounded to its element type.
inline llvm::LogicalResult finish(HostTensor out, llvm::SmallVectorImpl<HostTensor> &results) {
  out.round();
  results.push_back(std::move(out));
  return llvm::success();
}

} // namespace gaudi::graph
