//===- Data.cpp - constants, generators, gathers and scatters -------------===//
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

#include <cmath>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

//===----------------------------------------------------------------------===//
// constant, fill, range
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  TypedAttr value = adaptor.getValue();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || !isa<ElementsAttr, WeightAttr>(value))
    return emitOptionalError(loc, "value must be dense elements or #graph.weight of a static tensor type");
  results.push_back(type);
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ConstantOp::evaluate(ArrayRef<HostTensor>, SmallVectorImpl<HostTensor> &results) {
  auto elements = dyn_cast<ElementsAttr>(getValue());
  if (!elements)
    return emitOpError("weight '") << getWeight().getName() << "' cannot be read here";
  results.push_back(HostTensor::fromElements(elements));
  return success();
}

LogicalResult FillOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto value = dyn_cast<ElementsAttr>(adaptor.getValue());
  if (!value || value.getNumElements() != 1)
    return emitOptionalError(loc, "value must be one element");
  int64_t rank = dimsOf(adaptor.getShape())[0];
  if (rank == kDynamic)
    return emitOptionalError(loc, "rank of the result is not known");
  Dims dims(rank, kDynamic);
  if (std::optional<Dims> known = constantInts(adaptor.getShape()))
    dims = *known;
  for (int64_t d : dims)
    if (d < 0 && d != kDynamic)
      return emitOptionalError(loc, "negative dimension ", d);
  results.push_back(RankedTensorType::get(dims, value.getElementType()));
  return success();
}

LogicalResult FillOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  HostTensor value = HostTensor::fromElements(cast<ElementsAttr>(getValue()));
  HostTensor out = HostTensor::zeros(RankedTensorType::get(operands[0].ints(), value.elementType));
  for (int64_t i = 0, n = out.elementCount(); i < n; ++i)
    out.copyElement(i, value, 0);
  results.push_back(std::move(out));
  return success();
}

/// Number of elements of range(start, limit, delta); -1 if it is not a sane number.
static int64_t rangeCount(double start, double limit, double delta) {
  double count = std::ceil((limit - start) / delta);
  constexpr double most = 1e12;
  return std::isnan(count) || count > most ? -1 : static_cast<int64_t>(std::max(count, 0.0));
}

LogicalResult RangeOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Type element = elementOf(adaptor.getStart());
  for (Value v : {adaptor.getStart(), adaptor.getLimit(), adaptor.getDelta()})
    if (elementOf(v) != element || tensorType(v).getNumElements() != 1)
      return emitOptionalError(loc, "start, limit and delta must be scalars of one type");
  int64_t count = kDynamic;
  std::optional<Dims> start = constantInts(adaptor.getStart()), limit = constantInts(adaptor.getLimit()),
                      delta = constantInts(adaptor.getDelta());
  if (delta && delta->front() == 0)
    return emitOptionalError(loc, "delta is 0");
  if (start && limit && delta)
    count = rangeCount(start->front(), limit->front(), delta->front());
  if (count == -1)
    return emitOptionalError(loc, "range is too long");
  results.push_back(RankedTensorType::get({count}, element));
  return success();
}

LogicalResult RangeOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  double start = operands[0].asDouble(0), delta = operands[2].asDouble(0);
  int64_t count = rangeCount(start, operands[1].asDouble(0), delta);
  if (count < 0)
    return emitOpError("range from ") << start << " by " << delta << " does not end";
  HostTensor out = HostTensor::zeros(RankedTensorType::get({count}, operands[0].elementType));
  for (int64_t i = 0; i < count; ++i)
    if (out.isFloat())
      out.floats()[i] = start + i * delta;
    else
      out.ints()[i] = operands[0].ints()[0] + i * operands[2].ints()[0];
  out.round();
  results.push_back(std::move(out));
  return success();
}

//===----------------------------------------------------------------------===//
// gather family
//===----------------------------------------------------------------------===//

/// Index in [0, n) or a diagnostic.
static FailureOr<int64_t> wrapIndex(Operation *op, int64_t index, int64_t n) {
  if (index >= -n && index < n)
    return index < 0 ? index + n : index;
  return op->emitOpError("index ") << index << " is outside [" << -n << ", " << n << ")";
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto data = tensorType(adaptor.getData());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(loc, axis, data.getRank())))
    return failure();
  int64_t n = data.getDimSize(axis);
  if (std::optional<Dims> known = constantInts(adaptor.getIndices()); known && n != kDynamic)
    for (int64_t index : *known)
      if (index < -n || index >= n)
        return emitOptionalError(loc, "index ", index, " is outside [", -n, ", ", n, ")");
  Dims dims(data.getShape().take_front(axis));
  llvm::append_range(dims, dimsOf(adaptor.getIndices()));
  llvm::append_range(dims, data.getShape().drop_front(axis + 1));
  results.push_back(data.clone(dims));
  return success();
}

LogicalResult GatherOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &data = operands[0], &indices = operands[1];
  int64_t axis = getAxis(), n = data.shape[axis], inner = 1, outer = 1;
  Dims dims(ArrayRef(data.shape).take_front(axis));
  llvm::append_range(dims, indices.shape);
  llvm::append_range(dims, ArrayRef(data.shape).drop_front(axis + 1));
  for (int64_t i = 0; i < axis; ++i)
    outer *= data.shape[i];
  for (size_t i = axis + 1; i < data.shape.size(); ++i)
    inner *= data.shape[i];
  HostTensor out = HostTensor::zeros(RankedTensorType::get(dims, data.elementType));
  int64_t at = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t index : indices.ints()) {
      FailureOr<int64_t> row = wrapIndex(*this, index, n);
      if (failed(row))
        return failure();
      for (int64_t i = 0; i < inner; ++i)
        out.copyElement(at++, data, (o * n + *row) * inner + i);
    }
  results.push_back(std::move(out));
  return success();
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &results) {
  auto data = tensorType(adaptor.getData());
  auto indices = tensorType(adaptor.getIndices());
  if (data.getRank() != indices.getRank())
    return emitOptionalError(loc, "data and indices differ in rank (", data.getRank(), ", ", indices.getRank(), ")");
  if (failed(checkAxis(loc, adaptor.getAxis(), data.getRank())))
    return failure();
  results.push_back(data.clone(indices.getShape()));
  return success();
}

LogicalResult GatherElementsOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &data = operands[0], &indices = operands[1];
  int64_t axis = getAxis();
  Dims strides = stridesOf(data.shape);
  HostTensor out = HostTensor::zeros(RankedTensorType::get(indices.shape, data.elementType));
  StridedIndex walk(indices.shape, strides);
  for (int64_t i = 0, n = out.elementCount(); i < n; ++i, walk.next()) {
    FailureOr<int64_t> row = wrapIndex(*this, indices.ints()[i], data.shape[axis]);
    if (failed(row))
      return failure();
    out.copyElement(i, data, walk.offset + (*row - walk.index[axis]) * strides[axis]);
  }
  results.push_back(std::move(out));
  return success();
}

LogicalResult GatherNDOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto data = tensorType(adaptor.getData());
  ArrayRef<int64_t> indices = dimsOf(adaptor.getIndices());
  int64_t batch = adaptor.getBatchDims();
  if (indices.empty() || indices.back() == kDynamic)
    return emitOptionalError(loc, "length of the index tuples is not known");
  if (batch < 0 || batch >= static_cast<int64_t>(indices.size()) || indices.back() + batch > data.getRank())
    return emitOptionalError(loc, "index tuples of ", indices.back(), " after ", batch, " batch dims exceed rank ", data.getRank());
  Dims dims(indices.drop_back());
  llvm::append_range(dims, data.getShape().drop_front(batch + indices.back()));
  results.push_back(data.clone(dims));
  return success();
}

/// Offset of the slice that an index tuple of `tuple` ints addresses, over dims [firstDim, ...) of `shape`.
static FailureOr<int64_t> tupleOffset(Operation *op, ArrayRef<int64_t> tuple, ArrayRef<int64_t> shape,
                                      ArrayRef<int64_t> strides, int64_t firstDim) {
  int64_t offset = 0;
  for (auto [i, index] : llvm::enumerate(tuple)) {
    FailureOr<int64_t> at = wrapIndex(op, index, shape[firstDim + i]);
    if (failed(at))
      return failure();
    offset += *at * strides[firstDim + i];
  }
  return offset;
}

LogicalResult GatherNDOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &data = operands[0], &indices = operands[1];
  int64_t batch = getBatchDims(), length = indices.shape.back();
  Dims strides = stridesOf(data.shape);
  Dims dims(ArrayRef(indices.shape).drop_back());
  llvm::append_range(dims, ArrayRef(data.shape).drop_front(batch + length));
  HostTensor out = HostTensor::zeros(RankedTensorType::get(dims, data.elementType));
  int64_t slice = 1, perBatch = 1;
  for (size_t i = batch + length; i < data.shape.size(); ++i)
    slice *= data.shape[i];
  for (size_t i = batch; i + 1 < indices.shape.size(); ++i)
    perBatch *= indices.shape[i];
  int64_t batchStride = batch ? strides[batch - 1] : 0;
  for (int64_t t = 0, n = slice ? out.elementCount() / slice : 0; t < n; ++t) {
    FailureOr<int64_t> offset = tupleOffset(*this, ArrayRef(indices.ints()).slice(t * length, length), data.shape, strides, batch);
    if (failed(offset))
      return failure();
    for (int64_t i = 0; i < slice; ++i)
      out.copyElement(t * slice + i, data, t / perBatch * batchStride + *offset + i);
  }
  results.push_back(std::move(out));
  return success();
}

LogicalResult ScatterNDOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto data = tensorType(adaptor.getData());
  ArrayRef<int64_t> indices = dimsOf(adaptor.getIndices());
  if (elementOf(adaptor.getUpdates()) != data.getElementType())
    return emitOptionalError(loc, "updates and data differ in type");
  if (indices.empty() || indices.back() > data.getRank())
    return emitOptionalError(loc, "index tuples are longer than rank ", data.getRank());
  results.push_back(data);
  return success();
}

LogicalResult ScatterNDOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  HostTensor out = operands[0];
  const HostTensor &indices = operands[1], &updates = operands[2];
  int64_t length = indices.shape.back(), slice = 1;
  Dims strides = stridesOf(out.shape);
  for (size_t i = length; i < out.shape.size(); ++i)
    slice *= out.shape[i];
  int64_t tuples = 1;
  for (int64_t d : ArrayRef(indices.shape).drop_back())
    tuples *= d;
  for (int64_t t = 0; t < tuples; ++t) {
    FailureOr<int64_t> offset = tupleOffset(*this, ArrayRef(indices.ints()).slice(t * length, length), out.shape, strides, 0);
    if (failed(offset))
      return failure();
    for (int64_t i = 0; i < slice; ++i)
      out.copyElement(*offset + i, updates, t * slice + i);
  }
  results.push_back(std::move(out));
  return success();
}

//===----------------------------------------------------------------------===//
// trilu, cumsum
//===----------------------------------------------------------------------===//

LogicalResult TriluOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  if (type.getRank() < 2)
    return emitOptionalError(loc, "needs rank >= 2, found ", type.getRank());
  results.push_back(type);
  return success();
}

LogicalResult TriluOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor out = HostTensor::zeros(x.type());
  int64_t columns = x.shape.back(), rows = x.shape[x.shape.size() - 2];
  for (int64_t at = 0, n = x.elementCount(); at < n; ++at) {
    int64_t j = at % columns, diagonal = at / columns % rows + getK();
    if (getUpper() ? j >= diagonal : j <= diagonal)
      out.copyElement(at, x, at);
  }
  results.push_back(std::move(out));
  return success();
}

LogicalResult CumSumOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  if (failed(checkAxis(loc, adaptor.getAxis(), type.getRank())))
    return failure();
  results.push_back(type);
  return success();
}

LogicalResult CumSumOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  HostTensor out = HostTensor::zeros(x.type());
  int64_t n = x.shape[getAxis()], stride = stridesOf(x.shape)[getAxis()];
  for (int64_t lane = 0, lanes = n ? x.elementCount() / n : 0; lane < lanes; ++lane) {
    int64_t base = lane / stride * stride * n + lane % stride;
    double sum = 0;
    int64_t intSum = 0;
    for (int64_t k = 0; k < n; ++k) {
      int64_t at = base + (getReverse() ? n - 1 - k : k) * stride;
      double before = sum;
      int64_t intBefore = intSum;
      if (x.isFloat())
        sum += x.floats()[at], out.floats()[at] = getExclusive() ? before : sum;
      else
        intSum += x.ints()[at], out.ints()[at] = getExclusive() ? intBefore : intSum;
    }
  }
  out.round();
  results.push_back(std::move(out));
  return success();
}
