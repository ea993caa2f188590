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

LogicalResult MatMulOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto lhs = tensorType(adaptor.getLhs()), rhs = tensorType(adaptor.getRhs());
  if (lhs.getElementType() != rhs.getElementType()) // C1
    return emitOptionalError(loc, "operand types differ (", lhs.getElementType(), ", ", rhs.getElementType(), ")");
  if (lhs.getElementType().isInteger(1))
    return emitOptionalError(loc, "does not take element type i1");
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return emitOptionalError(loc, "needs rank >= 2 on both sides (found ", lhs.getRank(), ", ", rhs.getRank(), ")");
  Matrix a = matrixOf(lhs.getShape(), adaptor.getTransposeLhs()),
         b = matrixOf(rhs.getShape(), adaptor.getTransposeRhs());
  if (differ(a.cols, b.rows)) // C2
    return emitOptionalError(loc, "inner dimensions differ: ", a.cols, " vs ", b.rows);
  Dims dims;
  if (failed(broadcastDims(loc, a.batch, b.batch, dims))) // C3
    return failure();
  dims.append({a.rows, b.cols});
  return addResult(loc, dims, lhs.getElementType(), results);
}

namespace {

constexpr int64_t kRows = 4;      // rows of C that share one pass over B
constexpr int64_t kColumns = 512; // columns of a block: 4 rows of C and one of B are 20 KiB, inside L1

/// One block of C += A B. The inner loop runs along n and vectorises; k is summed in order.
template <typename T>
void multiplyBlock(const T *a, int64_t aRow, int64_t aCol, const T *b, T *c, int64_t rows, int64_t columns, int64_t n,
                   int64_t k) {
  if (rows != kRows) { // the last rows: one by one
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t p = 0; p < k; ++p)
        for (int64_t j = 0; j < columns; ++j)
          c[i * n + j] += a[i * aRow + p * aCol] * b[p * n + j];
    return;
  }
  for (int64_t p = 0; p < k; ++p) {
    const T *x = a + p * aCol, *row = b + p * n;
    T x0 = x[0], x1 = x[aRow], x2 = x[2 * aRow], x3 = x[3 * aRow];
    for (int64_t j = 0; j < columns; ++j) {
      T y = row[j];
      c[j] += x0 * y;
      c[n + j] += x1 * y;
      c[2 * n + j] += x2 * y;
      c[3 * n + j] += x3 * y;
    }
  }
}

/// C[m][n] += A[m][k] * B[k][n] with B and C contiguous along n. Integers as uint64_t: they wrap.
template <typename T>
void multiply(const T *a, int64_t aRow, int64_t aCol, const T *b, T *c, int64_t m, int64_t n, int64_t k) {
  for (int64_t j = 0; j < n; j += kColumns)
    for (int64_t i = 0; i < m; i += kRows)
      multiplyBlock(a + i * aRow, aRow, aCol, b + j, c + i * n + j, std::min(kRows, m - i), std::min(kColumns, n - j),
                    n, k);
}

/// In tiles, so that both sides stay in cache.
template <typename T> void transposeInto(const T *source, T *target, int64_t rows, int64_t cols) {
  constexpr int64_t tile = 32;
  for (int64_t i0 = 0; i0 < rows; i0 += tile)
    for (int64_t j0 = 0; j0 < cols; j0 += tile)
      for (int64_t i = i0; i < std::min(rows, i0 + tile); ++i)
        for (int64_t j = j0; j < std::min(cols, j0 + tile); ++j)
          target[j * rows + i] = source[i * cols + j];
}

/// Sizes and strides of a whole batched product.
struct Product {
  int64_t m, n, k, aRow, aCol;
  bool transposeRhs;
  Dims batch, aStrides, bStrides; // batch strides count matrices
};

template <typename T> void multiplyBatches(const Product &p, const T *a, const T *b, T *c) {
  if (p.k == 0) // sums of nothing; the operands are null
    return;
  std::vector<T> flipped(p.transposeRhs ? p.k * p.n : 0);
  int64_t flippedFrom = -1; // weights are the same matrix for the whole batch: flip them once
  forEachElement<2>(p.batch, {p.aStrides, p.bStrides}, {0, 0}, [&](int64_t i, auto at) {
    const T *rhs = b + at[1] * p.k * p.n;
    if (p.transposeRhs && flippedFrom != at[1])
      transposeInto(rhs, flipped.data(), p.n, p.k);
    flippedFrom = at[1];
    multiply(a + at[0] * p.m * p.k, p.aRow, p.aCol, p.transposeRhs ? flipped.data() : rhs, c + i * p.m * p.n, p.m, p.n,
             p.k);
  });
}

} // namespace

LogicalResult MatMulOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &lhs = operands[0], &rhs = operands[1];
  Matrix a = matrixOf(lhs.shape, getTransposeLhs()), b = matrixOf(rhs.shape, getTransposeRhs());
  Dims batch;
  if (a.cols != b.rows)
    return emitOpError("inner dimensions differ: ") << a.cols << " vs " << b.rows;
  if (failed(broadcastDims(getLoc(), a.batch, b.batch, batch)))
    return failure();
  Dims dims(batch);
  dims.append({a.rows, b.cols});
  FailureOr<HostTensor> out = allocate(*this, dims, lhs.elementType);
  if (failed(out))
    return failure();
  Product p{a.rows,
            b.cols,
            a.cols,
            getTransposeLhs() ? 1 : a.cols,
            getTransposeLhs() ? a.rows : 1,
            getTransposeRhs(),
            batch,
            broadcastStrides(a.batch, batch),
            broadcastStrides(b.batch, batch)};
  if (out->isFloat()) {
    multiplyBatches(p, lhs.floats().data(), rhs.floats().data(), out->floats().data());
  } else {
    auto bits = [](const std::vector<int64_t> &v) { return reinterpret_cast<const uint64_t *>(v.data()); };
    multiplyBatches(p, bits(lhs.ints()), bits(rhs.ints()), reinterpret_cast<uint64_t *>(out->ints().data()));
  }
  return finish(std::move(*out), results);
}

Cost MatMulOp::cost() {
  Cost cost = defaultCost(*this); // flops: one per result element
  cost.flops *= 2.0 * matrixOf(dimsOf(getLhs()), getTransposeLhs()).cols;
  return cost;
}
