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

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  if (failed(checkAxis(loc, adaptor.getAxis(), tensorType(adaptor.getInput()).getRank())))
    return failure();
  results.push_back(adaptor.getInput().getType());
  return success();
}

void graph::softmaxLane(double *data, int64_t n, int64_t stride, bool log) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i = 0; i < n; ++i)
    top = std::isnan(data[i * stride]) ? data[i * stride] : std::max(top, data[i * stride]);
  for (int64_t i = 0; i < n; ++i)
    sum += std::exp(data[i * stride] - top); // all -inf: NaN, as ONNX op by op
  for (int64_t i = 0; i < n; ++i) {
    double &x = data[i * stride];
    x = log ? x - top - std::log(sum) : std::exp(x - top) / sum;
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
  Value y = getLog() ? g.binary(BinaryKind::sub, shifted, g.unary(UnaryKind::log, sum)) : g.binary(BinaryKind::div, e, sum);
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

static LogicalResult inferNorm(OptionalLoc loc, Value input, int64_t axis, ValueRange affine, SmallVectorImpl<Type> &results) {
  auto type = tensorType(input);
  if (failed(checkAxis(loc, axis, type.getRank())))
    return failure();
  for (Value v : affine) {
    Dims dims;
    ArrayRef<int64_t> normalised = type.getShape().drop_front(axis);
    if (failed(broadcastDims(loc, dimsOf(v), normalised, dims)))
      return failure();
    if (elementOf(v) != type.getElementType())
      return emitOptionalError(loc, "scale or bias has type ", elementOf(v), ", expected ", type.getElementType());
  }
  results.push_back(type);
  return success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  SmallVector<Value> affine;
  for (Value v : {adaptor.getScale(), adaptor.getBias()})
    if (v)
      affine.push_back(v);
  return inferNorm(loc, adaptor.getInput(), adaptor.getAxis(), affine, results);
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  SmallVector<Value> affine;
  if (adaptor.getScale())
    affine.push_back(adaptor.getScale());
  return inferNorm(loc, adaptor.getInput(), adaptor.getAxis(), affine, results);
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
    BroadcastIndex index(affine->shape, x.shape);
    for (int64_t i = 0, n = out.elementCount(); i < n; ++i, index.next())
      out.floats()[i] = affine == scale ? out.floats()[i] * affine->floats()[index.offset]
                                        : out.floats()[i] + affine->floats()[index.offset];
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
