//===- Data.cpp - constant, fill, range, trilu, cumsum ---------------------===//
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

//===----------------------------------------------------------------------===//
// constant, fill, range
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                           SmallVectorImpl<Type> &results) {
  TypedAttr value = adaptor.getValue();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || !isa<DenseElementsAttr, WeightAttr>(value))
    return emitOptionalError(loc, "value must be dense elements or #graph.weight of a static tensor type, found ",
                             value);
  return addResult(loc, type.getShape(), type.getElementType(), results);
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ConstantOp::evaluate(ArrayRef<HostTensor>, SmallVectorImpl<HostTensor> &results) {
  auto elements = dyn_cast<ElementsAttr>(getValue());
  if (!elements)
    return emitOpError("weight '") << getWeight().getName() << "' cannot be read: no file is open"; // see Evaluate.cpp
  results.push_back(HostTensor::fromElements(elements));
  return success();
}

LogicalResult FillOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  auto value = dyn_cast<DenseElementsAttr>(adaptor.getValue());
  if (!value || value.getNumElements() != 1)
    return emitOptionalError(loc, "value must be dense elements of one element, found ", adaptor.getValue());
  FailureOr<Dims> dims = wantedShape(loc, std::nullopt, adaptor.getShape());
  return failed(dims) ? failure() : addResult(loc, *dims, value.getElementType(), results);
}

LogicalResult FillOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  HostTensor value = HostTensor::fromElements(cast<ElementsAttr>(getValue()));
  FailureOr<HostTensor> out = allocate(*this, operands[0].ints(), value.elementType);
  if (failed(out))
    return failure();
  withData(*out, value, [](auto &to, const auto &from) { llvm::fill(to, from[0]); });
  results.push_back(std::move(*out));
  return success();
}

/// Number of elements of a range; failure if it does not end or passes kMaxElements.
static FailureOr<int64_t> floatRangeCount(double start, double limit, double delta) {
  double count = std::ceil((limit - start) / delta);
  if (!(count <= static_cast<double>(kMaxElements))) // also NaN
    return failure();
  return static_cast<int64_t>(std::max(count, 0.0));
}

/// Exact for all of int64: the distance is taken as unsigned.
static FailureOr<int64_t> intRangeCount(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0)
    return failure();
  auto a = static_cast<uint64_t>(start), b = static_cast<uint64_t>(limit), step = static_cast<uint64_t>(delta);
  if (delta > 0 ? limit <= start : limit >= start)
    return 0;
  uint64_t count = delta > 0 ? (b - a - 1) / step + 1 : (a - b - 1) / (0 - step) + 1;
  return count > static_cast<uint64_t>(kMaxElements) ? FailureOr<int64_t>(failure()) : static_cast<int64_t>(count);
}

static FailureOr<int64_t> rangeCount(const HostTensor &start, const HostTensor &limit, const HostTensor &delta) {
  if (start.isFloat())
    return floatRangeCount(start.floats()[0], limit.floats()[0], delta.floats()[0]);
  return intRangeCount(start.ints()[0], limit.ints()[0], delta.ints()[0]);
}

/// Value of a dense rank-0 constant.
static std::optional<HostTensor> constantScalar(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)))
    return std::nullopt;
  return HostTensor::fromElements(elements);
}

LogicalResult RangeOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  Type element = elementOf(adaptor.getStart());
  for (Value v : adaptor.getOperands())
    if (elementOf(v) != element || tensorType(v).getRank() != 0 || element.isInteger(1))
      return emitOptionalError(loc, "start, limit and delta must be numbers of rank 0 and one type, found ",
                               v.getType());
  std::optional<HostTensor> start = constantScalar(adaptor.getStart()), limit = constantScalar(adaptor.getLimit()),
                            delta = constantScalar(adaptor.getDelta());
  if (!start || !limit || !delta)
    return addResult(loc, {kDynamic}, element, results);
  FailureOr<int64_t> count = rangeCount(*start, *limit, *delta);
  if (failed(count))
    return emitOptionalError(loc, "range from ", start->asDouble(0), " to ", limit->asDouble(0), " by ",
                             delta->asDouble(0), " does not end or is too long");
  return addResult(loc, {*count}, element, results);
}

LogicalResult RangeOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &start = operands[0], &delta = operands[2];
  FailureOr<int64_t> count = rangeCount(start, operands[1], delta);
  if (failed(count))
    return emitOpError("range from ") << start.asDouble(0) << " to " << operands[1].asDouble(0) << " by "
                                      << delta.asDouble(0) << " does not end or is too long";
  FailureOr<HostTensor> out = allocate(*this, {*count}, start.elementType);
  if (failed(out))
    return failure();
  for (int64_t i = 0; i < *count; ++i)
    if (out->isFloat())
      out->floats()[i] = start.floats()[0] + static_cast<double>(i) * delta.floats()[0];
    else // the count keeps it in range
      out->ints()[i] = static_cast<int64_t>(static_cast<uint64_t>(start.ints()[0]) +
                                            static_cast<uint64_t>(i) * static_cast<uint64_t>(delta.ints()[0]));
  return finish(std::move(*out), results);
}

//===----------------------------------------------------------------------===//
// trilu, cumsum
//===----------------------------------------------------------------------===//

LogicalResult TriluOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  if (type.getRank() < 2)
    return emitOptionalError(loc, "needs rank >= 2, found ", type.getRank());
  return addResult(loc, type.getShape(), type.getElementType(), results);
}

LogicalResult TriluOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  FailureOr<HostTensor> out = allocate(*this, x.shape, x.elementType);
  if (failed(out))
    return failure();
  int64_t columns = x.shape.back(), rows = x.shape[x.shape.size() - 2];
  int64_t k = std::clamp<int64_t>(getK(), -rows, columns); // same triangle, no overflow
  withData(*out, x, [&](auto &to, const auto &from) {
    for (int64_t at = 0, n = x.elementCount(); at < n; ++at) {
      int64_t j = at % columns, diagonal = at / columns % rows + k;
      if (getUpper() ? j >= diagonal : j <= diagonal)
        to[at] = from[at];
    }
  });
  results.push_back(std::move(*out));
  return success();
}

LogicalResult CumSumOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  if (failed(checkAxis(loc, adaptor.getAxis(), type.getRank())))
    return failure();
  if (type.getElementType().isInteger(1))
    return emitOptionalError(loc, "does not take element type i1");
  return addResult(loc, type.getShape(), type.getElementType(), results);
}

/// Running sum of `n` elements `stride` apart. T is double, or uint64_t for integers, which wrap.
template <typename T>
static void sumLane(const T *from, T *to, int64_t n, int64_t stride, bool exclusive, bool reverse) {
  T sum = 0;
  for (int64_t k = 0; k < n; ++k) {
    int64_t at = (reverse ? n - 1 - k : k) * stride;
    T before = sum;
    sum += from[at];
    to[at] = exclusive ? before : sum;
  }
}

LogicalResult CumSumOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  FailureOr<HostTensor> out = allocate(*this, x.shape, x.elementType);
  if (failed(out))
    return failure();
  int64_t n = x.shape[getAxis()], stride = stridesOf(x.shape)[getAxis()];
  for (int64_t lane = 0, lanes = n ? x.elementCount() / n : 0; lane < lanes; ++lane) {
    int64_t base = lane / stride * stride * n + lane % stride;
    if (out->isFloat())
      sumLane(x.floats().data() + base, out->floats().data() + base, n, stride, getExclusive(), getReverse());
    else
      sumLane(reinterpret_cast<const uint64_t *>(x.ints().data()) + base,
              reinterpret_cast<uint64_t *>(out->ints().data()) + base, n, stride, getExclusive(), getReverse());
  }
  return finish(std::move(*out), results);
}
