//===- Gather.cpp - gather, gather_elements, gather_nd, scatter_nd --------===//
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// Index in [0, n) or a diagnostic.
static FailureOr<int64_t> wrapIndex(Operation *op, int64_t index, int64_t n) {
  if (index >= -n && index < n)
    return index < 0 ? index + n : index;
  return op->emitOpError("index ") << index << " is outside [" << -n << ", " << n << ")";
}

/// Constant indices are checked at compile time; a dynamic `n` is left to the run time.
static LogicalResult checkConstantIndices(OptionalLoc loc, Value indices, int64_t n) {
  std::optional<Dims> known = n == kDynamic ? std::nullopt : constantInts(indices);
  for (int64_t index : known.value_or(Dims()))
    if (index < -n || index >= n)
      return emitOptionalError(loc, "index ", index, " is outside [", -n, ", ", n, ")");
  return success();
}

static int64_t product(ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t d : dims)
    count *= d;
  return count;
}

/// Offset of the slice that an index tuple addresses; `shape` and `strides` are those of the indexed dims.
static FailureOr<int64_t> tupleOffset(Operation *op, ArrayRef<int64_t> tuple, ArrayRef<int64_t> shape,
                                      ArrayRef<int64_t> strides) {
  int64_t offset = 0;
  for (auto [i, index] : llvm::enumerate(tuple)) {
    FailureOr<int64_t> at = wrapIndex(op, index, shape[i]);
    if (failed(at))
      return failure();
    offset += *at * strides[i];
  }
  return offset;
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

/// [data before axis, indices, data after axis].
static Dims gatheredDims(ArrayRef<int64_t> data, ArrayRef<int64_t> indices, int64_t axis) {
  Dims dims(data.take_front(axis));
  llvm::append_range(dims, indices);
  llvm::append_range(dims, data.drop_front(axis + 1));
  return dims;
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto data = tensorType(adaptor.getData());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(loc, axis, data.getRank())) ||
      failed(checkConstantIndices(loc, adaptor.getIndices(), data.getDimSize(axis))))
    return failure();
  return addResult(loc, gatheredDims(data.getShape(), dimsOf(adaptor.getIndices()), axis), data.getElementType(),
                   results);
}

LogicalResult GatherOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &data = operands[0], &indices = operands[1];
  ArrayRef<int64_t> shape = data.shape;
  int64_t axis = getAxis(), n = shape[axis];
  int64_t outer = product(shape.take_front(axis)), inner = product(shape.drop_front(axis + 1));
  FailureOr<HostTensor> out = allocate(*this, gatheredDims(shape, indices.shape, axis), data.elementType);
  if (failed(out))
    return failure();
  Dims rows;
  for (int64_t index : indices.ints()) {
    FailureOr<int64_t> row = wrapIndex(*this, index, n);
    if (failed(row))
      return failure();
    rows.push_back(*row);
  }
  withData(*out, data, [&](auto &to, const auto &from) {
    auto next = to.begin();
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t row : rows)
        next = std::copy_n(from.begin() + (o * n + row) * inner, inner, next);
  });
  results.push_back(std::move(*out));
  return success();
}

//===----------------------------------------------------------------------===//
// gather_elements
//===----------------------------------------------------------------------===//

/// Off the axis, the indices must stay inside the data.
static LogicalResult checkElements(OptionalLoc loc, ArrayRef<int64_t> data, ArrayRef<int64_t> indices, int64_t axis) {
  if (data.size() != indices.size())
    return emitOptionalError(loc, "data and indices differ in rank: ", data.size(), " vs ", indices.size());
  if (failed(checkAxis(loc, axis, data.size())))
    return failure();
  for (auto [i, d] : llvm::enumerate(indices))
    if (static_cast<int64_t>(i) != axis && d != kDynamic && data[i] != kDynamic && d > data[i])
      return emitOptionalError(loc, "indices exceed data at dim ", i, " (", d, " vs ", data[i], ")");
  return success();
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &results) {
  auto data = tensorType(adaptor.getData());
  int64_t axis = adaptor.getAxis();
  if (failed(checkElements(loc, data.getShape(), dimsOf(adaptor.getIndices()), axis)) ||
      failed(checkConstantIndices(loc, adaptor.getIndices(), data.getDimSize(axis))))
    return failure();
  return addResult(loc, dimsOf(adaptor.getIndices()), data.getElementType(), results);
}

LogicalResult GatherElementsOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &data = operands[0], &indices = operands[1];
  int64_t axis = getAxis();
  if (failed(checkElements(getLoc(), data.shape, indices.shape, axis)))
    return failure();
  FailureOr<HostTensor> out = allocate(*this, indices.shape, data.elementType);
  if (failed(out))
    return failure();
  Dims strides = stridesOf(data.shape), offAxis = strides;
  offAxis[axis] = 0; // along the axis the index decides
  LogicalResult ok = success();
  withData(*out, data, [&](auto &to, const auto &from) {
    forEachElement<1>(indices.shape, {offAxis}, {0}, [&](int64_t i, auto at) {
      if (failed(ok)) // one diagnostic is enough
        return;
      FailureOr<int64_t> row = wrapIndex(*this, indices.ints()[i], data.shape[axis]);
      if (succeeded(row))
        to[i] = from[at[0] + *row * strides[axis]];
      ok = row;
    });
  });
  results.push_back(std::move(*out));
  return ok;
}

//===----------------------------------------------------------------------===//
// gather_nd
//===----------------------------------------------------------------------===//

/// Result dims: those of the indices without the tuple, then what the tuple leaves of the data.
static FailureOr<Dims> gatheredNDDims(OptionalLoc loc, ArrayRef<int64_t> data, ArrayRef<int64_t> indices,
                                      int64_t batch) {
  int64_t dataRank = data.size(), indexRank = indices.size();
  if (indices.empty() || indices.back() == kDynamic)
    return emitOptionalError(loc, "length of the index tuples is not known: indices are ", dimsText(indices));
  if (batch < 0 || batch >= indexRank || batch > dataRank || indices.back() > dataRank - batch)
    return emitOptionalError(loc, "index tuples of ", indices.back(), " after ", batch, " batch dims exceed rank ",
                             dataRank);
  for (int64_t i = 0; i < batch; ++i)
    if (differ(data[i], indices[i]))
      return emitOptionalError(loc, "batch dim ", i, " differs: ", data[i], " vs ", indices[i]);
  Dims dims(indices.drop_back());
  llvm::append_range(dims, data.drop_front(batch + indices.back()));
  return dims;
}

LogicalResult GatherNDOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                           SmallVectorImpl<Type> &results) {
  auto data = tensorType(adaptor.getData());
  FailureOr<Dims> dims = gatheredNDDims(loc, data.getShape(), dimsOf(adaptor.getIndices()), adaptor.getBatchDims());
  return failed(dims) ? failure() : addResult(loc, *dims, data.getElementType(), results);
}

LogicalResult GatherNDOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &data = operands[0], &indices = operands[1];
  int64_t batch = getBatchDims();
  FailureOr<Dims> dims = gatheredNDDims(getLoc(), data.shape, indices.shape, batch);
  if (failed(dims))
    return failure();
  FailureOr<HostTensor> out = allocate(*this, *dims, data.elementType);
  if (failed(out))
    return failure();
  ArrayRef<int64_t> shape = data.shape, tuples = indices.shape;
  Dims strides = stridesOf(shape);
  int64_t length = tuples.back(), slice = product(shape.drop_front(batch + length));
  int64_t perBatch = product(tuples.drop_front(batch).drop_back()), batchStride = product(shape.drop_front(batch));
  for (int64_t t = 0, n = product(tuples.drop_back()); t < n; ++t) {
    FailureOr<int64_t> offset = tupleOffset(*this, ArrayRef(indices.ints()).slice(t * length, length),
                                            shape.drop_front(batch), ArrayRef(strides).drop_front(batch));
    if (failed(offset))
      return failure();
    withData(*out, data, [&](auto &to, const auto &from) {
      std::copy_n(from.begin() + t / perBatch * batchStride + *offset, slice, to.begin() + t * slice);
    });
  }
  results.push_back(std::move(*out));
  return success();
}

//===----------------------------------------------------------------------===//
// scatter_nd
//===----------------------------------------------------------------------===//

/// Updates are [indices without the tuple, what the tuple leaves of the data].
static LogicalResult checkScatter(OptionalLoc loc, ArrayRef<int64_t> data, ArrayRef<int64_t> indices,
                                  ArrayRef<int64_t> updates) {
  FailureOr<Dims> wanted = gatheredNDDims(loc, data, indices, 0);
  if (failed(wanted))
    return failure();
  bool fits = wanted->size() == updates.size();
  for (size_t i = 0; fits && i < updates.size(); ++i)
    fits = !differ((*wanted)[i], updates[i]);
  if (fits)
    return success();
  return emitOptionalError(loc, "updates have shape ", dimsText(updates), ", expected ", dimsText(*wanted));
}

LogicalResult ScatterNDOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  auto data = tensorType(adaptor.getData());
  if (elementOf(adaptor.getUpdates()) != data.getElementType())
    return emitOptionalError(loc, "updates have type ", elementOf(adaptor.getUpdates()), ", expected ",
                             data.getElementType());
  if (failed(checkScatter(loc, data.getShape(), dimsOf(adaptor.getIndices()), dimsOf(adaptor.getUpdates()))))
    return failure();
  return addResult(loc, data.getShape(), data.getElementType(), results);
}

LogicalResult ScatterNDOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &indices = operands[1], &updates = operands[2];
  HostTensor out = operands[0];
  if (failed(checkScatter(getLoc(), out.shape, indices.shape, updates.shape)))
    return failure();
  ArrayRef<int64_t> shape = out.shape, tuples = indices.shape;
  Dims strides = stridesOf(shape);
  int64_t length = tuples.back(), slice = product(shape.drop_front(length));
  for (int64_t t = 0, n = product(tuples.drop_back()); t < n; ++t) {
    FailureOr<int64_t> offset = tupleOffset(*this, ArrayRef(indices.ints()).slice(t * length, length), shape, strides);
    if (failed(offset))
      return failure();
    withData(out, updates,
             [&](auto &to, const auto &from) { std::copy_n(from.begin() + t * slice, slice, to.begin() + *offset); });
  }
  results.push_back(std::move(out));
  return success();
}
