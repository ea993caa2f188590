//===- Reduce.cpp - reductions --------------------------------------------===//
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

static Dims reducedDims(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes, bool keepdims) {
  Dims dims;
  for (auto [i, d] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      dims.push_back(d);
    else if (keepdims)
      dims.push_back(1);
  }
  return dims;
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  if (adaptor.getAxes().empty() || !llvm::is_sorted(adaptor.getAxes()))
    return emitOptionalError(loc, "axes must be sorted and not empty");
  for (int64_t axis : adaptor.getAxes())
    if (failed(checkAxis(loc, axis, type.getRank())))
      return failure();
  results.push_back(type.clone(reducedDims(type.getShape(), adaptor.getAxes(), adaptor.getKeepdims())));
  return success();
}

static double identityOf(ReduceKind kind, Type type) {
  bool isFloat = isa<FloatType>(type);
  if (kind == ReduceKind::max)
    return isFloat ? -std::numeric_limits<double>::infinity() : 0;
  if (kind == ReduceKind::min)
    return isFloat ? std::numeric_limits<double>::infinity() : 0;
  return kind == ReduceKind::prod ? 1 : 0;
}

static int64_t integerIdentity(ReduceKind kind, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger() || width == 1;
  int64_t high = width == 64 ? INT64_MAX : (int64_t(1) << (isUnsigned ? width : width - 1)) - 1;
  int64_t low = isUnsigned ? 0 : width == 64 ? INT64_MIN : -high - 1;
  return kind == ReduceKind::max ? low : kind == ReduceKind::min ? high : kind == ReduceKind::prod ? 1 : 0;
}

static double combine(ReduceKind kind, double acc, double x) {
  switch (kind) {
  case ReduceKind::sum:
  case ReduceKind::mean: return acc + x;
  case ReduceKind::sumsq: return acc + x * x;
  case ReduceKind::prod: return acc * x;
  case ReduceKind::max: return std::isnan(acc) || std::isnan(x) ? std::nan("") : std::max(acc, x);
  case ReduceKind::min: return std::isnan(acc) || std::isnan(x) ? std::nan("") : std::min(acc, x);
  }
  llvm_unreachable("covered switch");
}

static int64_t combineInts(ReduceKind kind, int64_t acc, int64_t x) {
  auto a = static_cast<uint64_t>(acc), b = static_cast<uint64_t>(x);
  switch (kind) {
  case ReduceKind::sum:
  case ReduceKind::mean: return static_cast<int64_t>(a + b);
  case ReduceKind::sumsq: return static_cast<int64_t>(a + b * b);
  case ReduceKind::prod: return static_cast<int64_t>(a * b);
  case ReduceKind::max: return std::max(acc, x);
  case ReduceKind::min: return std::min(acc, x);
  }
  llvm_unreachable("covered switch");
}

LogicalResult ReduceOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  Dims kept = reducedDims(x.shape, getAxes(), true);
  HostTensor out = HostTensor::zeros(RankedTensorType::get(kept, x.elementType));
  for (int64_t i = 0, n = out.elementCount(); i < n; ++i)
    if (out.isFloat())
      out.floats()[i] = identityOf(getKind(), x.elementType);
    else
      out.ints()[i] = integerIdentity(getKind(), x.elementType);
  BroadcastIndex target(kept, x.shape);
  for (int64_t i = 0, n = x.elementCount(); i < n; ++i, target.next())
    if (out.isFloat())
      out.floats()[target.offset] = combine(getKind(), out.floats()[target.offset], x.floats()[i]);
    else
      out.ints()[target.offset] = combineInts(getKind(), out.ints()[target.offset], x.ints()[i]);
  if (getKind() == ReduceKind::mean) {
    int64_t count = 1;
    for (int64_t axis : getAxes())
      count *= x.shape[axis];
    for (int64_t i = 0, n = out.elementCount(); i < n; ++i)
      if (out.isFloat())
        out.floats()[i] /= static_cast<double>(count);
      else
        out.ints()[i] = count ? out.ints()[i] / count : 0;
  }
  out.shape = reducedDims(x.shape, getAxes(), getKeepdims());
  out.round();
  results.push_back(std::move(out));
  return success();
}

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *context, OptionalLoc loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(loc, axis, type.getRank())))
    return failure();
  results.push_back(RankedTensorType::get(reducedDims(type.getShape(), {axis}, adaptor.getKeepdims()),
                                          IntegerType::get(context, 64)));
  return success();
}

LogicalResult ArgReduceOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  int64_t axis = getAxis(), n = x.shape[axis], stride = stridesOf(x.shape)[axis];
  HostTensor out = HostTensor::zeros(RankedTensorType::get(reducedDims(x.shape, {axis}, getKeepdims()),
                                                           IntegerType::get(getContext(), 64)));
  for (int64_t lane = 0, lanes = out.elementCount(); n && lane < lanes; ++lane) {
    int64_t base = lane / stride * stride * n + lane % stride, best = 0;
    for (int64_t k = 1; k < n; ++k) {
      double current = x.asDouble(base + k * stride), leader = x.asDouble(base + best * stride);
      bool better = getMin() ? current < leader : current > leader;
      if (better || (getSelectLast() && current == leader))
        best = k;
    }
    out.ints()[lane] = best;
  }
  results.push_back(std::move(out));
  return success();
}
