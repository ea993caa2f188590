//===- Move.cpp - transpose, broadcast, slice, concat, pad ----------------===//
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  ArrayRef<int64_t> input = dimsOf(adaptor.getInput()), permutation = adaptor.getPermutation();
  if (permutation.size() != input.size() || !isPermutationVector(permutation))
    return emitOptionalError(loc, "permutation ", listText(permutation), " is no permutation of ", input.size(),
                             " dims");
  return addResult(loc, applyPermutation(input, permutation), elementOf(adaptor.getInput()), results);
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return isIdentityPermutation(getPermutation()) && getInput().getType() == getType() ? getInput() : Value();
}

LogicalResult TransposeOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  FailureOr<HostTensor> out = allocate(*this, applyPermutation(ArrayRef(x.shape), getPermutation()), x.elementType);
  if (failed(out))
    return failure();
  Dims strides = applyPermutation(ArrayRef<int64_t>(stridesOf(x.shape)), getPermutation());
  results.push_back(gatherStrided(x, std::move(*out), strides));
  return success();
}

//===----------------------------------------------------------------------===//
// broadcast
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  Value operand = adaptor.getShapeOperand();
  if (failed(checkEither(loc, "shape", operand, adaptor.getShape().has_value())))
    return failure();
  FailureOr<Dims> wanted = wantedShape(loc, adaptor.getShape(), operand);
  Dims dims;
  if (failed(wanted) || failed(checkDims(loc, *wanted)) ||
      failed(broadcastDims(loc, dimsOf(adaptor.getInput()), *wanted, dims)))
    return failure();
  return addResult(loc, dims, elementOf(adaptor.getInput()), results);
}

void BroadcastOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<int64_t> shape) {
  Dims dims;
  LogicalResult fits = broadcastDims(std::nullopt, dimsOf(input), shape, dims);
  assert(succeeded(fits) && "builder needs a shape that broadcasts");
  (void)fits;
  build(builder, state, tensorType(input).clone(dims), input, Value(), builder.getDenseI64ArrayAttr(shape));
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  bool widensNothing = getShape() && llvm::all_of(*getShape(), [](int64_t d) { return d == 1; });
  bool isSame = getInput().getType() == getType();
  return isSame && (widensNothing || tensorType(getInput()).hasStaticShape()) ? getInput() : Value();
}

LogicalResult BroadcastOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  ArrayRef<int64_t> wanted = getShape() ? *getShape() : ArrayRef<int64_t>(operands[1].ints());
  Dims dims;
  if (failed(checkDims(getLoc(), wanted)) || failed(broadcastDims(getLoc(), x.shape, wanted, dims)))
    return failure();
  FailureOr<HostTensor> out = allocate(*this, dims, x.elementType);
  if (failed(out))
    return failure();
  results.push_back(gatherStrided(x, std::move(*out), broadcastStrides(x.shape, dims)));
  return success();
}

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

namespace {

/// One axis of an ONNX Slice against a known dim.
struct AxisRange {
  int64_t start = 0, count = 0, step = 1;
};

/// Clamping of ONNX Slice-13: starts to [0, dim] forwards and [0, dim-1] backwards, ends to [0, dim] and [-1, dim-1].
AxisRange resolveRange(int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (dim == 0)
    return {0, 0, step};
  auto fromEnd = [&](int64_t v) { return v < 0 ? std::max(v, -dim - 1) + dim : v; }; // max: INT64_MIN must not wrap
  int64_t last = step > 0 ? dim : dim - 1;
  int64_t from = std::clamp<int64_t>(fromEnd(start), 0, last);
  int64_t to = std::clamp<int64_t>(fromEnd(end), step > 0 ? 0 : -1, last);
  int64_t span = step > 0 ? to - from : from - to;
  // |step| could be INT64_MIN: divide as unsigned.
  uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  int64_t count = span > 0 ? static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / stride + 1) : 0;
  return {from, count, step};
}

/// What a slice knows of its bounds; unknown lists are empty optionals.
struct Bounds {
  std::optional<Dims> starts, ends, steps;
};

/// C1, C2 and the axes.
LogicalResult checkBounds(OptionalLoc loc, const Bounds &bounds, ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<bool> seen(rank, false);
  for (int64_t axis : axes) {
    if (failed(checkAxis(loc, axis, rank)))
      return failure();
    if (seen[axis])
      return emitOptionalError(loc, "axis ", axis, " is given twice");
    seen[axis] = true;
  }
  for (auto [name, list] : {std::pair("starts", &bounds.starts), {"ends", &bounds.ends}, {"steps", &bounds.steps}})
    if (*list && (*list)->size() != axes.size()) // C2
      return emitOptionalError(loc, name, " has ", (*list)->size(), " values, axes has ", axes.size());
  if (bounds.steps)
    for (auto [axis, step] : llvm::zip_equal(axes, *bounds.steps))
      if (step == 0) // C1
        return emitOptionalError(loc, "step of axis ", axis, " is 0");
  return success();
}

} // namespace

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  ArrayRef<int64_t> axes = adaptor.getAxes();
  if (failed(checkEither(loc, "starts", adaptor.getStartsOperand(), adaptor.getStarts().has_value())) ||
      failed(checkEither(loc, "ends", adaptor.getEndsOperand(), adaptor.getEnds().has_value())))
    return failure();
  if (adaptor.getStepsOperand() && adaptor.getSteps())
    return checkEither(loc, "steps", adaptor.getStepsOperand(), true);
  Bounds bounds{attrOrConstant(adaptor.getStarts(), adaptor.getStartsOperand()),
                attrOrConstant(adaptor.getEnds(), adaptor.getEndsOperand()),
                attrOrConstant(adaptor.getSteps(), adaptor.getStepsOperand())};
  if (!bounds.steps && !adaptor.getStepsOperand())
    bounds.steps = Dims(axes.size(), 1);
  Dims dims(dimsOf(adaptor.getInput()));
  if (failed(checkBounds(loc, bounds, axes, dims.size())) || failed(checkDims(loc, dims)))
    return failure();
  bool known = bounds.starts && bounds.ends && bounds.steps;
  for (auto [i, axis] : llvm::enumerate(axes))
    dims[axis] = known && dims[axis] != kDynamic
                     ? resolveRange(dims[axis], (*bounds.starts)[i], (*bounds.ends)[i], (*bounds.steps)[i]).count
                     : kDynamic;
  return addResult(loc, dims, elementOf(adaptor.getInput()), results);
}

void SliceOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<int64_t> starts,
                    ArrayRef<int64_t> ends, ArrayRef<int64_t> steps, ArrayRef<int64_t> axes) {
  auto type = tensorType(input);
  Dims dims(type.getShape());
  for (auto [i, axis] : llvm::enumerate(axes))
    if (dims[axis] != kDynamic)
      dims[axis] = resolveRange(dims[axis], starts[i], ends[i], steps[i]).count;
  build(builder, state, type.clone(dims), input, Value(), Value(), Value(), builder.getDenseI64ArrayAttr(starts),
        builder.getDenseI64ArrayAttr(ends), builder.getDenseI64ArrayAttr(steps), builder.getDenseI64ArrayAttr(axes));
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool forwards =
      !getStepsOperand() && llvm::all_of(getSteps().value_or(ArrayRef<int64_t>()), [](int64_t s) { return s == 1; });
  bool whole = getStarts() && llvm::all_of(*getStarts(), [](int64_t s) { return s == 0; }) && getEnds() &&
               llvm::all_of(*getEnds(), [](int64_t e) { return e == INT64_MAX; });
  bool isSame = getInput().getType() == getType();
  return forwards && isSame && (whole || tensorType(getInput()).hasStaticShape()) ? getInput() : Value();
}

LogicalResult SliceOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  size_t next = 1;
  auto read = [&](std::optional<ArrayRef<int64_t>> attr, Value operand) {
    if (operand)
      return Dims(ArrayRef<int64_t>(operands[next++].ints()));
    return attr ? Dims(*attr) : Dims(getAxes().size(), 1);
  };
  Bounds bounds;
  bounds.starts = read(getStarts(), getStartsOperand());
  bounds.ends = read(getEnds(), getEndsOperand());
  bounds.steps = read(getSteps(), getStepsOperand());
  if (failed(checkBounds(getLoc(), bounds, getAxes(), x.shape.size())))
    return failure();
  Dims dims(x.shape), strides = stridesOf(x.shape);
  int64_t offset = 0;
  for (auto [i, axis] : llvm::enumerate(getAxes())) {
    AxisRange range = resolveRange(x.shape[axis], (*bounds.starts)[i], (*bounds.ends)[i], (*bounds.steps)[i]);
    dims[axis] = range.count;
    offset += range.count ? range.start * strides[axis] : 0;
    strides[axis] *= range.count > 1 ? range.step : 1; // a huge step of one element must not overflow
  }
  FailureOr<HostTensor> out = allocate(*this, dims, x.elementType);
  if (failed(out))
    return failure();
  results.push_back(gatherStrided(x, std::move(*out), strides, offset));
  return success();
}

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

static LogicalResult appendDims(OptionalLoc loc, Dims &dims, ArrayRef<int64_t> more, int64_t axis) {
  for (int64_t i = 0, rank = dims.size(); i < rank; ++i) {
    int64_t d = more[i];
    if (i == axis && (d == kDynamic || dims[i] == kDynamic))
      dims[i] = kDynamic;
    else if (i == axis && llvm::AddOverflow(dims[i], d, dims[i]))
      return emitOptionalError(loc, "dim ", axis, " of the result passes 2^63");
    else if (i != axis && differ(dims[i], d))
      return emitOptionalError(loc, "inputs differ at dim ", i, " (", dims[i], " vs ", d, ")");
    else if (i != axis && dims[i] == kDynamic)
      dims[i] = d;
  }
  return success();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  ValueRange inputs = adaptor.getInputs();
  if (inputs.empty())
    return emitOptionalError(loc, "needs at least one input");
  auto first = tensorType(inputs.front());
  if (failed(checkAxis(loc, adaptor.getAxis(), first.getRank())))
    return failure();
  Dims dims(first.getShape());
  for (Value input : inputs.drop_front()) {
    auto type = tensorType(input);
    if (type.getElementType() != first.getElementType() || type.getRank() != first.getRank())
      return emitOptionalError(loc, "inputs differ in rank or type (", first, " vs ", type, ")");
    if (failed(appendDims(loc, dims, type.getShape(), adaptor.getAxis())))
      return failure();
  }
  return addResult(loc, dims, first.getElementType(), results);
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 && getInputs().front().getType() == getType() ? getInputs().front() : Value();
}

LogicalResult ConcatOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  int64_t axis = getAxis();
  Dims dims(operands[0].shape);
  for (const HostTensor &t : operands.drop_front())
    if (failed(appendDims(getLoc(), dims, t.shape, axis)))
      return failure();
  FailureOr<HostTensor> out = allocate(*this, dims, operands[0].elementType);
  if (failed(out))
    return failure();
  Dims strides = stridesOf(dims);
  int64_t base = 0;
  for (const HostTensor &t : operands) {
    withData(*out, t, [&](auto &to, const auto &from) {
      forEachElement<1>(t.shape, {strides}, {base * strides[axis]}, [&](int64_t i, auto at) { to[at[0]] = from[i]; });
    });
    base += t.shape[axis];
  }
  results.push_back(std::move(*out));
  return success();
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

static FailureOr<Dims> paddedDims(OptionalLoc loc, ArrayRef<int64_t> input, ArrayRef<int64_t> pads) {
  size_t rank = input.size();
  if (pads.size() != 2 * rank)
    return emitOptionalError(loc, "pads has ", pads.size(), " values, expected ", 2 * rank);
  Dims dims(input);
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] == kDynamic)
      continue;
    if (llvm::AddOverflow(dims[i], pads[i], dims[i]) || llvm::AddOverflow(dims[i], pads[rank + i], dims[i]))
      return emitOptionalError(loc, "dim ", i, " of the result passes 2^63");
    if (dims[i] < 0)
      return emitOptionalError(loc, "pads crop more than dim ", i, " has (result ", dims[i], ")");
  }
  return dims;
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  if (failed(checkEither(loc, "pads", adaptor.getPadsOperand(), adaptor.getPads().has_value())))
    return failure();
  if (Value value = adaptor.getValue(); value && value.getType() != RankedTensorType::get({}, type.getElementType()))
    return emitOptionalError(loc, "value has type ", value.getType(), ", expected a scalar of ", type.getElementType());
  std::optional<Dims> pads = attrOrConstant(adaptor.getPads(), adaptor.getPadsOperand());
  if (!pads)
    return addResult(loc, Dims(type.getRank(), kDynamic), type.getElementType(), results);
  FailureOr<Dims> dims = paddedDims(loc, type.getShape(), *pads);
  return failed(dims) ? failure() : addResult(loc, *dims, type.getElementType(), results);
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  bool isZero = getPads() && llvm::all_of(*getPads(), [](int64_t p) { return p == 0; });
  return isZero && getInput().getType() == getType() ? getInput() : Value();
}

LogicalResult PadOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  ArrayRef<int64_t> pads = getPads() ? *getPads() : ArrayRef<int64_t>(operands[1].ints());
  FailureOr<Dims> dims = paddedDims(getLoc(), x.shape, pads);
  if (failed(dims))
    return failure();
  FailureOr<HostTensor> out = allocate(*this, *dims, x.elementType);
  if (failed(out))
    return failure();
  // The part of the input that survives negative pads, and where it lands.
  Dims kept(x.shape), from = stridesOf(x.shape), to = stridesOf(*dims);
  int64_t source = 0, target = 0;
  for (size_t i = 0, rank = kept.size(); i < rank; ++i) {
    int64_t cropBegin = std::max<int64_t>(0, -pads[i]), cropEnd = std::max<int64_t>(0, -pads[rank + i]);
    kept[i] = std::max<int64_t>(0, kept[i] - cropBegin - cropEnd);
    source += cropBegin * from[i];
    target += std::max<int64_t>(0, pads[i]) * to[i];
  }
  withData(*out, x, [&](auto &result, const auto &input) {
    if (getValue())
      llvm::fill(result, std::get<std::decay_t<decltype(input)>>(operands.back().data)[0]);
    forEachElement<2>(kept, {from, to}, {source, target}, [&](int64_t, auto at) { result[at[1]] = input[at[0]]; });
  });
  results.push_back(std::move(*out));
  return success();
}
