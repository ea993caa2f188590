//===- Shape.cpp - shape_of, reshape, squeeze, unsqueeze ------------------===//
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

//===----------------------------------------------------------------------===//
// shape_of
//===----------------------------------------------------------------------===//

/// Bounds after ONNX Shape-15's clamping: `from <= to <= rank`.
static std::pair<int64_t, int64_t> shapeRange(int64_t rank, int64_t start, std::optional<int64_t> end) {
  auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  int64_t from = clamp(start);
  return {from, std::max(from, end ? clamp(*end) : rank)};
}

LogicalResult ShapeOfOp::inferReturnTypes(MLIRContext *context, OptionalLoc loc, Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  auto [from, to] = shapeRange(tensorType(adaptor.getInput()).getRank(), adaptor.getStart(), adaptor.getEnd());
  return addResult(loc, {to - from}, IntegerType::get(context, 64), results);
}

OpFoldResult ShapeOfOp::fold(FoldAdaptor) {
  auto [from, to] = shapeRange(tensorType(getInput()).getRank(), getStart(), getEnd());
  ArrayRef<int64_t> dims = dimsOf(getInput()).slice(from, to - from);
  auto type = RankedTensorType::get({to - from}, IntegerType::get(getContext(), 64));
  if (llvm::is_contained(dims, kDynamic) || type != getType())
    return {};
  return DenseElementsAttr::get(type, dims);
}

LogicalResult ShapeOfOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  auto [from, to] = shapeRange(operands[0].shape.size(), getStart(), getEnd());
  HostTensor out = HostTensor::zeros(RankedTensorType::get({to - from}, elementOf(getResult())));
  llvm::copy(ArrayRef(operands[0].shape).slice(from, to - from), out.ints().begin());
  results.push_back(std::move(out));
  return success();
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

namespace {

/// An ONNX shape against an input. Dims that are copied (0) or equal by construction cancel on both sides, so that
/// [?, 128, 768] -> [0, -1, 64] is [?, 1536, 64] and an empty batch does not make -1 ambiguous.
struct WantedShape {
  Dims dims;            // -1 and unknown dims as kDynamic
  Dims restIn, restOut; // what remains of both sides after cancelling; without the -1
  int64_t deduced = -1; // position of the -1
};

FailureOr<WantedShape> readShape(OptionalLoc loc, ArrayRef<int64_t> input, ArrayRef<int64_t> wanted, bool allowzero) {
  WantedShape shape;
  SmallVector<bool> copied(input.size(), false);
  for (auto [i, d] : llvm::enumerate(wanted)) {
    bool copies = d == 0 && !allowzero;
    if (copies && i >= input.size())
      return emitOptionalError(loc, "shape ", listText(wanted), " copies dim ", i, " of an input of rank ",
                               input.size());
    if (d == -1 && shape.deduced >= 0)
      return emitOptionalError(loc, "shape ", listText(wanted), " has more than one -1");
    if (d < -1 && d != kDynamic)
      return emitOptionalError(loc, "shape ", listText(wanted), " has negative dim ", d);
    shape.dims.push_back(copies ? input[i] : d == -1 ? kDynamic : d);
    if (copies)
      copied[i] = true;
    else if (d == -1)
      shape.deduced = i;
    else
      shape.restOut.push_back(d);
  }
  for (auto [i, d] : llvm::enumerate(input))
    if (!copied[i])
      shape.restIn.push_back(d);
  return shape;
}

/// Result dims; those that depend on unknown dims stay dynamic. C1.
FailureOr<Dims> resolveShape(OptionalLoc loc, ArrayRef<int64_t> input, ArrayRef<int64_t> wanted, bool allowzero) {
  FailureOr<WantedShape> shape = readShape(loc, input, wanted, allowzero);
  if (failed(shape) || failed(checkDims(loc, input)) || failed(checkDims(loc, shape->dims)))
    return failure();
  std::optional<int64_t> have = elementCount(shape->restIn), ask = elementCount(shape->restOut);
  if (!have || !ask)
    return shape->dims;
  bool fits = shape->deduced < 0 ? *have == *ask : *ask == 0 ? *have == 0 : *have % *ask == 0;
  if (!fits)
    return emitOptionalError(loc, "element counts differ: cannot reshape ", dimsText(input), " to ", listText(wanted));
  if (shape->deduced >= 0)
    shape->dims[shape->deduced] = *ask == 0 ? 0 : *have / *ask;
  return shape->dims;
}

} // namespace

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  Value operand = adaptor.getShapeOperand();
  if (failed(checkEither(loc, "shape", operand, adaptor.getShape().has_value())))
    return failure();
  FailureOr<Dims> wanted = wantedShape(loc, adaptor.getShape(), operand);
  if (failed(wanted))
    return failure();
  FailureOr<Dims> dims = resolveShape(loc, dimsOf(adaptor.getInput()), *wanted, adaptor.getAllowzero());
  if (failed(dims))
    return failure();
  return addResult(loc, *dims, elementOf(adaptor.getInput()), results);
}

void ReshapeOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<int64_t> shape) {
  // A plain list of dims: 0 means zero, and the one dynamic dim, if any, is deduced.
  Dims wanted(shape);
  llvm::replace(wanted, kDynamic, int64_t(-1));
  bool hasZero = llvm::is_contained(wanted, 0);
  FailureOr<Dims> dims = resolveShape(std::nullopt, dimsOf(input), wanted, hasZero);
  assert(succeeded(dims) && "builder needs a shape that fits");
  build(builder, state, tensorType(input).clone(succeeded(dims) ? *dims : Dims(shape)), input, Value(),
        builder.getDenseI64ArrayAttr(wanted), hasZero);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType() && tensorType(getInput()).hasStaticShape())
    return getInput();
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(adaptor.getInput()))
    if (tensorType(getResult()).hasStaticShape() &&
        elements.getNumElements() == tensorType(getResult()).getNumElements())
      return elements.reshape(cast<ShapedType>(getType()));
  return {};
}

static LogicalResult reshaped(HostTensor out, ArrayRef<int64_t> dims, SmallVectorImpl<HostTensor> &results) {
  out.shape.assign(dims.begin(), dims.end());
  results.push_back(std::move(out));
  return success();
}

LogicalResult ReshapeOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  ArrayRef<int64_t> wanted = getShape() ? *getShape() : ArrayRef<int64_t>(operands[1].ints());
  FailureOr<Dims> dims = resolveShape(getLoc(), operands[0].shape, wanted, getAllowzero());
  return failed(dims) ? failure() : reshaped(operands[0], *dims, results);
}

//===----------------------------------------------------------------------===//
// squeeze, unsqueeze
//===----------------------------------------------------------------------===//

static FailureOr<Dims> squeezedDims(OptionalLoc loc, ArrayRef<int64_t> input, std::optional<ArrayRef<int64_t>> axes) {
  if (!axes && llvm::is_contained(input, kDynamic))
    return emitOptionalError(loc, "squeeze without axes needs static dims (found ", dimsText(input), ")");
  for (int64_t axis : axes.value_or(ArrayRef<int64_t>())) {
    if (failed(checkAxis(loc, axis, input.size())))
      return failure();
    if (differ(input[axis], 1))
      return emitOptionalError(loc, "dim ", axis, " cannot be squeezed (found ", input[axis], ", expected 1)");
  }
  Dims dims;
  for (auto [i, d] : llvm::enumerate(input))
    if (axes ? !llvm::is_contained(*axes, static_cast<int64_t>(i)) : d != 1)
      dims.push_back(d);
  return dims;
}

LogicalResult SqueezeOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  FailureOr<Dims> dims = squeezedDims(loc, dimsOf(adaptor.getInput()), adaptor.getAxes());
  return failed(dims) ? failure() : addResult(loc, *dims, elementOf(adaptor.getInput()), results);
}

LogicalResult SqueezeOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  FailureOr<Dims> dims = squeezedDims(getLoc(), operands[0].shape, getAxes());
  return failed(dims) ? failure() : reshaped(operands[0], *dims, results);
}

static FailureOr<Dims> unsqueezedDims(OptionalLoc loc, ArrayRef<int64_t> input, ArrayRef<int64_t> axes) {
  int64_t rank = input.size() + axes.size();
  SmallVector<bool> isNew(rank, false);
  for (int64_t axis : axes) {
    if (failed(checkAxis(loc, axis, rank)))
      return failure();
    if (isNew[axis])
      return emitOptionalError(loc, "axis ", axis, " is given twice");
    isNew[axis] = true;
  }
  Dims dims;
  const int64_t *next = input.begin();
  for (bool inserted : isNew)
    dims.push_back(inserted ? 1 : *next++);
  return dims;
}

LogicalResult UnsqueezeOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  FailureOr<Dims> dims = unsqueezedDims(loc, dimsOf(adaptor.getInput()), adaptor.getAxes());
  return failed(dims) ? failure() : addResult(loc, *dims, elementOf(adaptor.getInput()), results);
}

LogicalResult UnsqueezeOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  FailureOr<Dims> dims = unsqueezedDims(getLoc(), operands[0].shape, getAxes());
  return failed(dims) ? failure() : reshaped(operands[0], *dims, results);
}
