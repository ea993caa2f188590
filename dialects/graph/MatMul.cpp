//===- MatMul.cpp - batched matrix product --------------------------------===//
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

namespace {

/// Rows and columns of the last two dims after an optional transpose.
struct Matrix {
  int64_t rows, cols;
  ArrayRef<int64_t> batch;
};

Matrix matrixOf(ArrayRef<int64_t> dims, bool transposed) {
  int64_t a = dims[dims.size() - 2], b = dims.back();
  return {transposed ? b : a, transposed ? a : b, dims.drop_back(2)};
}

} // namespace

LogicalResult MatMulOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto lhs = tensorType(adaptor.getLhs()), rhs = tensorType(adaptor.getRhs());
  if (lhs.getElementType() != rhs.getElementType()) // C1
    return emitOptionalError(loc, "operand types differ (", lhs.getElementType(), ", ", rhs.getElementType(), ")");
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return emitOptionalError(loc, "needs rank >= 2 on both sides (found ", lhs.getRank(), ", ", rhs.getRank(), ")");
  Matrix a = matrixOf(lhs.getShape(), adaptor.getTransposeLhs()), b = matrixOf(rhs.getShape(), adaptor.getTransposeRhs());
  if (a.cols != b.rows && a.cols != kDynamic && b.rows != kDynamic) // C2
    return emitOptionalError(loc, "inner dimensions differ (", a.cols, " vs ", b.rows, ")");
  Dims dims;
  if (failed(broadcastDims(loc, a.batch, b.batch, dims))) // C3
    return failure();
  dims.append({a.rows, b.cols});
  results.push_back(lhs.clone(dims));
  return success();
}

namespace {

/// C[m][n] += A[m][k] * B[k][n] with B contiguous along n: the inner loop vectorises.
template <typename T>
void multiply(const T *a, int64_t aRow, int64_t aCol, const T *b, T *c, int64_t m, int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      T x = a[i * aRow + p * aCol];
      const T *row = b + p * n;
      T *out = c + i * n;
      for (int64_t j = 0; j < n; ++j)
        out[j] += x * row[j];
    }
}

template <typename T> void transposeInto(const T *source, T *target, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      target[j * rows + i] = source[i * cols + j];
}

} // namespace

LogicalResult MatMulOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &lhs = operands[0], &rhs = operands[1];
  Matrix a = matrixOf(lhs.shape, getTransposeLhs()), b = matrixOf(rhs.shape, getTransposeRhs());
  Dims batch;
  if (failed(broadcastDims(getLoc(), a.batch, b.batch, batch)))
    return failure();
  int64_t m = a.rows, n = b.cols, k = a.cols, batches = 1;
  for (int64_t d : batch)
    batches *= d;
  Dims dims(batch);
  dims.append({m, n});
  HostTensor out = HostTensor::zeros(RankedTensorType::get(dims, lhs.elementType));
  BroadcastIndex atA(a.batch, batch), atB(b.batch, batch);
  int64_t aRow = getTransposeLhs() ? 1 : k, aCol = getTransposeLhs() ? m : 1;
  auto run = [&](auto &av, auto &bv, auto &cv) {
    std::decay_t<decltype(cv)> flipped(getTransposeRhs() ? k * n : 0);
    for (int64_t i = 0; i < batches; ++i, atA.next(), atB.next()) {
      const auto *bp = bv.data() + atB.offset * k * n;
      if (getTransposeRhs()) {
        transposeInto(bp, flipped.data(), n, k);
        bp = flipped.data();
      }
      multiply(av.data() + atA.offset * m * k, aRow, aCol, bp, cv.data() + i * m * n, m, n, k);
    }
  };
  if (out.isFloat())
    run(lhs.floats(), rhs.floats(), out.floats());
  else
    run(lhs.ints(), rhs.ints(), out.ints());
  out.round();
  results.push_back(std::move(out));
  return success();
}

Cost MatMulOp::cost() {
  Cost cost = defaultCost(*this);
  Matrix a = matrixOf(dimsOf(getLhs()), getTransposeLhs());
  cost.flops = 2.0 * tensorType(getResult()).getNumElements() * a.cols;
  return cost;
}
