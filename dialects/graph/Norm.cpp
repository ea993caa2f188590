//===- Norm.cpp - softmax, layer_norm, rms_norm ---------------------------===//
#include "dialects/graph/Build.h"
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

#include <cmath>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  if (failed(checkAxis(loc, adaptor.getAxis(), type.getRank())))
    return failure();
  return addResult(loc, type.getShape(), type.getElementType(), results);
}

void graph::softmaxLane(double *data, int64_t n, int64_t stride, bool log) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i = 0; i < n; ++i) // a NaN in the lane reaches every element through the sum
    top = std::max(top, data[i * stride]);
  for (int64_t i = 0; i < n; ++i) {
    double &x = data[i * stride];
    x -= top; // all -inf: NaN, as ONNX op by op
    double e = std::exp(x);
    sum += e;
    x = log ? x : e;
  }
  double logSum = std::log(sum);
  for (int64_t i = 0; i < n; ++i) {
    double &x = data[i * stride];
    x = log ? x - logSum : x / sum;
  }
}

LogicalResult SoftmaxOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  HostTensor out = operands[0];
  int64_t n = out.shape[getAxis()], stride = stridesOf(out.shape)[getAxis()];
  for (int64_t lane = 0, lanes = n ? out.elementCount() / n : 0; lane < lanes; ++lane)
    softmaxLane(out.floats().data() + lane / stride * stride * n + lane % stride, n, stride, getLog());
  out.round();
  results.push_back(std::move(out));
  return success();
}

FailureOr<SmallVector<Value>> SoftmaxOp::decompose(OpBuilder &b) {
  Build g(b, getLoc());
  Value x = g.toF32(getInput());
  int64_t axis = getAxis();
  Value shifted = g.binary(BinaryKind::sub, x, g.reduce(ReduceKind::max, x, axis));
  Value e = g.unary(UnaryKind::exp, shifted);
  Value sum = g.reduce(ReduceKind::sum, e, axis);
  Value y =
      getLog() ? g.binary(BinaryKind::sub, shifted, g.unary(UnaryKind::log, sum)) : g.binary(BinaryKind::div, e, sum);
  return SmallVector<Value>{g.cast(y, elementOf(getResult()))};
}

Cost SoftmaxOp::cost() {
  Cost cost = defaultCost(*this);
  cost.flops *= 5; // max, subtract, exp, add, divide
  return cost;
}

//===----------------------------------------------------------------------===//
// layer_norm, rms_norm
//===----------------------------------------------------------------------===//

static LogicalResult inferNorm(OptionalLoc loc, Value input, int64_t axis, const APFloat &epsilon, Value scale,
                               Value bias, SmallVectorImpl<Type> &results) {
  auto type = tensorType(input);
  if (failed(checkAxis(loc, axis, type.getRank())))
    return failure();
  if (!epsilon.isFinite() || epsilon.isNegative())
    return emitOptionalError(loc, "epsilon is ", epsilon.convertToDouble(), ", expected a finite number >= 0");
  for (auto [name, value] : {std::pair("scale", scale), {"bias", bias}}) {
    if (!value)
      continue;
    if (elementOf(value) != type.getElementType())
      return emitOptionalError(loc, name, " has type ", elementOf(value), ", expected ", type.getElementType());
    if (failed(checkBroadcastsTo(loc, name, dimsOf(value), type.getShape().drop_front(axis))))
      return failure();
  }
  return addResult(loc, type.getShape(), type.getElementType(), results);
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  return inferNorm(loc, adaptor.getInput(), adaptor.getAxis(), adaptor.getEpsilon(), adaptor.getScale(),
                   adaptor.getBias(), results);
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  return inferNorm(loc, adaptor.getInput(), adaptor.getAxis(), adaptor.getEpsilon(), adaptor.getScale(), Value(),
                   results);
}

/// (x - mean) / sqrt(var + eps) * scale + bias, or without mean and bias for RMS.
static HostTensor normalise(const HostTensor &x, int64_t axis, double epsilon, bool centred, const HostTensor *scale,
                            const HostTensor *bias) {
  HostTensor out = x;
  int64_t row = 1;
  for (int64_t d : ArrayRef(x.shape).drop_front(axis))
    row *= d;
  for (int64_t r = 0, rows = row ? x.elementCount() / row : 0; r < rows; ++r) {
    double *v = out.floats().data() + r * row;
    double mean = 0, variance = 0;
    for (int64_t i = 0; centred && i < row; ++i)
      mean += v[i] / row;
    for (int64_t i = 0; i < row; ++i)
      variance += (v[i] - mean) * (v[i] - mean) / row;
    double inverse = 1 / std::sqrt(variance + epsilon);
    for (int64_t i = 0; i < row; ++i)
      v[i] = (v[i] - mean) * inverse;
  }
  for (const HostTensor *affine : {scale, bias}) {
    if (!affine)
      continue;
    bool multiplies = affine == scale;
    forEachElement<1>(x.shape, {broadcastStrides(affine->shape, x.shape)}, {0}, [&](int64_t i, auto at) {
      double &y = out.floats()[i], factor = affine->floats()[at[0]];
      y = multiplies ? y * factor : y + factor;
    });
  }
  out.round();
  return out;
}

LogicalResult LayerNormOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor *scale = getScale() ? &operands[1] : nullptr;
  const HostTensor *bias = getBias() ? &operands[getScale() ? 2 : 1] : nullptr;
  results.push_back(normalise(operands[0], getAxis(), getEpsilon().convertToDouble(), true, scale, bias));
  return success();
}

LogicalResult RmsNormOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  results.push_back(normalise(operands[0], getAxis(), getEpsilon().convertToDouble(), false,
                              getScale() ? &operands[1] : nullptr, nullptr));
  return success();
}

static Value decomposeNorm(Build &g, Value input, int64_t axis, double epsilon, bool centred, Value scale, Value bias) {
  Value x = g.toF32(input);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(axis, tensorType(input).getRank()));
  if (centred)
    x = g.binary(BinaryKind::sub, x, g.reduce(ReduceKind::mean, x, axes));
  Value variance = g.reduce(ReduceKind::mean, g.binary(BinaryKind::mul, x, x), axes);
  Value inverse = g.unary(UnaryKind::rsqrt, g.binary(BinaryKind::add, variance, g.scalar(epsilon, elementOf(x))));
  Value y = g.binary(BinaryKind::mul, x, inverse);
  if (scale)
    y = g.binary(BinaryKind::mul, y, g.toF32(scale));
  if (bias)
    y = g.binary(BinaryKind::add, y, g.toF32(bias));
  return g.cast(y, elementOf(input));
}

FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &b) {
  Build g(b, getLoc());
  return SmallVector<Value>{
      decomposeNorm(g, getInput(), getAxis(), getEpsilon().convertToDouble(), true, getScale(), getBias())};
}

FailureOr<SmallVector<Value>> RmsNormOp::decompose(OpBuilder &b) {
  Build g(b, getLoc());
  return SmallVector<Value>{
      decomposeNorm(g, getInput(), getAxis(), getEpsilon().convertToDouble(), false, getScale(), Value())};
}

static Cost normCost(Operation *op) {
  Cost cost = defaultCost(op);
  cost.flops *= 8; // mean, centre, square, sum, scale, affine
  return cost;
}
Cost LayerNormOp::cost() { return normCost(*this); }
Cost RmsNormOp::cost() { return normCost(*this); }
