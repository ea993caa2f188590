//===- Shape.cpp - ops that move or reinterpret elements ------------------===//
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

HostTensor graph::gatherStrided(const HostTensor &source, RankedTensorType type, ArrayRef<int64_t> strides, int64_t start) {
  HostTensor out = HostTensor::zeros(type);
  StridedIndex index(type.getShape(), strides, start);
  for (int64_t i = 0, n = out.elementCount(); i < n; ++i, index.next())
    out.copyElement(i, source, index.offset);
  return out;
}

/// Exactly one of a shape operand and its attribute must be there.
static LogicalResult checkEither(OptionalLoc loc, StringRef what, Value operand, bool hasAttr) {
  if (bool(operand) != hasAttr)
    return success();
  return emitOptionalError(loc, "needs either the ", what, " operand or the ", what, " attribute");
}

/// Length of a 1-D shape operand, or dynamic.
static int64_t lengthOf(Value operand) { return dimsOf(operand)[0]; }

//===----------------------------------------------------------------------===//
// shape_of
//===----------------------------------------------------------------------===//

static std::pair<int64_t, int64_t> shapeRange(int64_t rank, int64_t start, std::optional<int64_t> end) {
  auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  int64_t from = clamp(start);
  return {from, std::max(from, end ? clamp(*end) : rank)};
}

LogicalResult ShapeOfOp::inferReturnTypes(MLIRContext *context, OptionalLoc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto [from, to] = shapeRange(tensorType(adaptor.getInput()).getRank(), adaptor.getStart(), adaptor.getEnd());
  results.push_back(RankedTensorType::get({to - from}, IntegerType::get(context, 64)));
  return success();
}

OpFoldResult ShapeOfOp::fold(FoldAdaptor) {
  auto [from, to] = shapeRange(tensorType(getInput()).getRank(), getStart(), getEnd());
  ArrayRef<int64_t> dims = dimsOf(getInput()).slice(from, to - from);
  if (llvm::is_contained(dims, kDynamic))
    return {};
  return DenseElementsAttr::get(RankedTensorType::get({to - from}, IntegerType::get(getContext(), 64)), dims);
}

LogicalResult ShapeOfOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  auto [from, to] = shapeRange(operands[0].shape.size(), getStart(), getEnd());
  HostTensor out = HostTensor::zeros(RankedTensorType::get({to - from}, elementOf(getResult())));
  for (int64_t i = from; i < to; ++i)
    out.ints()[i - from] = operands[0].shape[i];
  results.push_back(std::move(out));
  return success();
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

/// Resolves 0 and -1 of an ONNX shape against the input's dims. Dims that depend on dynamic input dims stay dynamic.
static LogicalResult resolveShape(OptionalLoc loc, ArrayRef<int64_t> input, ArrayRef<int64_t> wanted, bool allowzero,
                                  Dims &out) {
  out.assign(wanted.begin(), wanted.end());
  int64_t deduced = -1;
  for (auto [i, d] : llvm::enumerate(wanted)) {
    if (d == 0 && !allowzero) {
      if (i >= input.size())
        return emitOptionalError(loc, "shape copies dim ", i, " of an input of rank ", input.size());
      out[i] = input[i];
    } else if (d == -1 && deduced >= 0)
      return emitOptionalError(loc, "shape has more than one -1");
    else if (d == -1)
      deduced = i;
    else if (d < 0 && d != kDynamic)
      return emitOptionalError(loc, "shape has negative dim ", d);
  }
  std::optional<int64_t> count = elementCount(input);
  if (deduced >= 0)
    out[deduced] = 1;
  std::optional<int64_t> known = elementCount(out);
  if (deduced >= 0)
    out[deduced] = count && known && *known > 0 && *count % *known == 0 ? *count / *known : kDynamic;
  bool fits = !count || !known || (deduced >= 0 ? (*known > 0 ? *count % *known == 0 : *count == 0) : *count == *known);
  if (!fits)
    return emitOptionalError(loc, "cannot reshape ", *count, " elements to [", llvm::join(llvm::map_range(wanted, [](int64_t d) {
                               return std::to_string(d); }), ","), "]");
  if (deduced >= 0 && known && *known == 0)
    out[deduced] = 0;
  return success();
}

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Value operand = adaptor.getShapeOperand();
  if (failed(checkEither(loc, "shape", operand, adaptor.getShape().has_value())))
    return failure();
  Dims dims;
  if (std::optional<Dims> wanted = attrOrConstant(adaptor.getShape(), operand)) {
    if (failed(resolveShape(loc, dimsOf(adaptor.getInput()), *wanted, adaptor.getAllowzero(), dims))) // C1
      return failure();
  } else if (lengthOf(operand) == kDynamic)
    return emitOptionalError(loc, "rank of the result is not known");
  else
    dims.assign(lengthOf(operand), kDynamic);
  results.push_back(RankedTensorType::get(dims, elementOf(adaptor.getInput())));
  return success();
}

void ReshapeOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<int64_t> shape) {
  bool hasZero = llvm::is_contained(shape, 0); // a plain list of dims: 0 means zero
  build(builder, state, tensorType(input).clone(shape), input, Value(), builder.getDenseI64ArrayAttr(shape), hasZero);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType() && tensorType(getInput()).hasStaticShape())
    return getInput();
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(adaptor.getInput()); elements && tensorType(getResult()).hasStaticShape())
    return elements.reshape(cast<ShapedType>(getType()));
  return {};
}

LogicalResult ReshapeOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  FailureOr<RankedTensorType> type = staticResult(*this);
  if (failed(type))
    return failure();
  HostTensor out = operands[0];
  out.shape.assign(type->getShape().begin(), type->getShape().end());
  results.push_back(std::move(out));
  return success();
}

namespace {

/// A reshape whose result is static: plain attribute form; and reshape(reshape(x)) -> reshape(x).
struct PlainReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto type = tensorType(op.getResult());
    if (!type.hasStaticShape())
      return failure();
    auto inner = op.getInput().getDefiningOp<ReshapeOp>();
    bool plain = op.getShape() && *op.getShape() == type.getShape() && op.getAllowzero() == llvm::is_contained(type.getShape(), 0);
    if (!inner && plain)
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, inner ? inner.getInput() : op.getInput(), type.getShape());
    return success();
  }
};

/// squeeze and unsqueeze with static shapes are reshapes.
template <typename OpT> struct StaticToReshape : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    auto type = tensorType(op.getResult());
    if (!type.hasStaticShape() || !tensorType(op.getInput()).hasStaticShape())
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getInput(), type.getShape());
    return success();
  }
};

} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<PlainReshape>(context);
}
void SqueezeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<StaticToReshape<SqueezeOp>>(context);
}
void UnsqueezeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<StaticToReshape<UnsqueezeOp>>(context);
}

//===----------------------------------------------------------------------===//
// squeeze, unsqueeze
//===----------------------------------------------------------------------===//

LogicalResult SqueezeOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  std::optional<ArrayRef<int64_t>> axes = adaptor.getAxes();
  Dims dims;
  for (int64_t axis : axes.value_or(ArrayRef<int64_t>())) {
    if (failed(checkAxis(loc, axis, type.getRank())))
      return failure();
    if (type.getDimSize(axis) != 1 && type.getDimSize(axis) != kDynamic)
      return emitOptionalError(loc, "dim ", axis, " cannot be squeezed (found ", type.getDimSize(axis), ", expected 1)");
  }
  for (auto [i, d] : llvm::enumerate(type.getShape()))
    if (axes ? !llvm::is_contained(*axes, static_cast<int64_t>(i)) : d != 1)
      dims.push_back(d);
  results.push_back(type.clone(dims));
  return success();
}

LogicalResult UnsqueezeOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  ArrayRef<int64_t> axes = adaptor.getAxes();
  int64_t rank = type.getRank() + axes.size();
  Dims dims(rank, 0);
  for (int64_t axis : axes) {
    if (failed(checkAxis(loc, axis, rank)))
      return failure();
    if (dims[axis] == 1)
      return emitOptionalError(loc, "axis ", axis, " is given twice");
    dims[axis] = 1;
  }
  const int64_t *next = type.getShape().begin();
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(axes, i))
      dims[i] = *next++;
  results.push_back(type.clone(dims));
  return success();
}

static LogicalResult evaluateAsReshape(Operation *op, ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  FailureOr<RankedTensorType> type = staticResult(op);
  if (failed(type))
    return failure();
  HostTensor out = operands[0];
  out.shape.assign(type->getShape().begin(), type->getShape().end());
  results.push_back(std::move(out));
  return success();
}

LogicalResult SqueezeOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  return evaluateAsReshape(*this, operands, results);
}
LogicalResult UnsqueezeOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  return evaluateAsReshape(*this, operands, results);
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  ArrayRef<int64_t> perm = adaptor.getPermutation();
  if (static_cast<int64_t>(perm.size()) != type.getRank() || !isPermutationVector(perm))
    return emitOptionalError(loc, "permutation [", llvm::join(llvm::map_range(perm, [](int64_t d) { return std::to_string(d); }), ","),
                             "] is not a permutation of ", type.getRank(), " dims");
  Dims dims;
  for (int64_t p : perm)
    dims.push_back(type.getDimSize(p));
  results.push_back(type.clone(dims));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return llvm::equal(getPermutation(), llvm::seq<int64_t>(getPermutation().size())) ? getInput() : Value();
}

LogicalResult TransposeOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  Dims dims, strides, own = stridesOf(x.shape);
  for (int64_t p : getPermutation()) {
    dims.push_back(x.shape[p]);
    strides.push_back(own[p]);
  }
  results.push_back(gatherStrided(x, RankedTensorType::get(dims, x.elementType), strides));
  return success();
}

namespace {

struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    Dims merged;
    for (int64_t p : op.getPermutation())
      merged.push_back(inner.getPermutation()[p]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getInput(), merged);
    return success();
  }
};

/// A transpose that keeps the order of the non-unit dims moves no element.
struct UnitTransposeToReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto input = tensorType(op.getInput());
    if (!input.hasStaticShape())
      return failure();
    int64_t last = -1;
    for (int64_t p : op.getPermutation())
      if (input.getDimSize(p) != 1) {
        if (p < last)
          return failure();
        last = p;
      }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getInput(), tensorType(op.getResult()).getShape());
    return success();
  }
};

} // namespace

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeTransposes, UnitTransposeToReshape>(context);
}

//===----------------------------------------------------------------------===//
// broadcast
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  Value operand = adaptor.getShapeOperand();
  if (failed(checkEither(loc, "shape", operand, adaptor.getShape().has_value())))
    return failure();
  Dims wanted, dims;
  if (std::optional<Dims> known = attrOrConstant(adaptor.getShape(), operand))
    wanted = *known;
  else if (lengthOf(operand) == kDynamic)
    return emitOptionalError(loc, "rank of the result is not known");
  else
    wanted.assign(lengthOf(operand), kDynamic);
  if (failed(broadcastDims(loc, dimsOf(adaptor.getInput()), wanted, dims)))
    return failure();
  results.push_back(RankedTensorType::get(dims, elementOf(adaptor.getInput())));
  return success();
}

void BroadcastOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<int64_t> shape) {
  Dims dims;
  LogicalResult ok = broadcastDims(std::nullopt, dimsOf(input), shape, dims);
  assert(succeeded(ok) && "builder needs a shape that broadcasts");
  (void)ok;
  build(builder, state, tensorType(input).clone(dims), input, Value(), builder.getDenseI64ArrayAttr(shape));
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() && tensorType(getInput()).hasStaticShape() ? getInput() : Value();
}

LogicalResult BroadcastOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  FailureOr<RankedTensorType> type = staticResult(*this);
  if (failed(type))
    return failure();
  BroadcastIndex index(operands[0].shape, type->getShape());
  results.push_back(gatherStrided(operands[0], *type, index.strides));
  return success();
}

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

namespace {

/// One axis of an ONNX Slice resolved against a known dim: first index, count, step.
struct AxisRange {
  int64_t start = 0, count = 0, step = 1;
};

/// Clamping as in ONNX Slice-13: starts to [0, dim] forwards and [0, dim-1] backwards, ends to [0, dim] and [-1, dim-1].
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

} // namespace

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  if (failed(checkEither(loc, "starts", adaptor.getStartsOperand(), adaptor.getStarts().has_value())) ||
      failed(checkEither(loc, "ends", adaptor.getEndsOperand(), adaptor.getEnds().has_value())))
    return failure();
  ArrayRef<int64_t> axes = adaptor.getAxes();
  std::optional<Dims> starts = attrOrConstant(adaptor.getStarts(), adaptor.getStartsOperand());
  std::optional<Dims> ends = attrOrConstant(adaptor.getEnds(), adaptor.getEndsOperand());
  std::optional<Dims> steps = attrOrConstant(adaptor.getSteps(), adaptor.getStepsOperand());
  if (!steps && !adaptor.getStepsOperand())
    steps = Dims(axes.size(), 1);
  Dims dims(type.getShape());
  for (auto *list : {&starts, &ends, &steps})
    if (*list && (*list)->size() != axes.size()) // C2
      return emitOptionalError(loc, "starts, ends, steps and axes differ in length (found ", (*list)->size(), ", expected ",
                               axes.size(), ")");
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (failed(checkAxis(loc, axis, type.getRank())))
      return failure();
    if (steps && (*steps)[i] == 0) // C1
      return emitOptionalError(loc, "step of axis ", axis, " is 0");
    bool known = starts && ends && steps && dims[axis] != kDynamic;
    dims[axis] = known ? resolveRange(dims[axis], (*starts)[i], (*ends)[i], (*steps)[i]).count : kDynamic;
  }
  results.push_back(type.clone(dims));
  return success();
}

void SliceOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<int64_t> starts, ArrayRef<int64_t> ends,
                    ArrayRef<int64_t> steps, ArrayRef<int64_t> axes) {
  auto type = tensorType(input);
  Dims dims(type.getShape());
  for (auto [i, axis] : llvm::enumerate(axes))
    if (dims[axis] != kDynamic)
      dims[axis] = resolveRange(dims[axis], starts[i], ends[i], steps[i]).count;
  build(builder, state, type.clone(dims), input, Value(), Value(), Value(), builder.getDenseI64ArrayAttr(starts),
        builder.getDenseI64ArrayAttr(ends), builder.getDenseI64ArrayAttr(steps), builder.getDenseI64ArrayAttr(axes));
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  auto type = tensorType(getInput());
  bool forward = !getStepsOperand() && llvm::all_of(getSteps().value_or(ArrayRef<int64_t>()), [](int64_t s) { return s == 1; });
  return forward && type.hasStaticShape() && type == getType() ? getInput() : Value();
}

LogicalResult SliceOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  size_t next = 1;
  auto bounds = [&](std::optional<ArrayRef<int64_t>> attr, Value operand) {
    Dims values = attr ? Dims(*attr) : Dims(getAxes().size(), 1);
    if (operand) {
      const std::vector<int64_t> &ints = operands[next++].ints();
      values.assign(ints.begin(), ints.end());
    }
    return values;
  };
  Dims starts = bounds(getStarts(), getStartsOperand()), ends = bounds(getEnds(), getEndsOperand()),
       steps = bounds(getSteps(), getStepsOperand());
  Dims dims(x.shape), strides = stridesOf(x.shape);
  int64_t offset = 0;
  for (auto [i, axis] : llvm::enumerate(getAxes())) {
    AxisRange range = resolveRange(x.shape[axis], starts[i], ends[i], steps[i]);
    dims[axis] = range.count;
    offset += range.count ? range.start * strides[axis] : 0;
    strides[axis] *= range.count > 1 ? range.step : 1;
  }
  results.push_back(gatherStrided(x, RankedTensorType::get(dims, x.elementType), strides, offset));
  return success();
}

//===----------------------------------------------------------------------===//
// concat, pad
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  ValueRange inputs = adaptor.getInputs();
  if (inputs.empty())
    return emitOptionalError(loc, "needs at least one input");
  auto first = tensorType(inputs.front());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(loc, axis, first.getRank())))
    return failure();
  Dims dims(first.getShape());
  for (Value input : inputs.drop_front()) {
    auto type = tensorType(input);
    if (type.getElementType() != first.getElementType() || type.getRank() != first.getRank())
      return emitOptionalError(loc, "inputs differ in rank or type (", first, ", ", type, ")");
    for (int64_t i = 0; i < type.getRank(); ++i) {
      int64_t d = type.getDimSize(i);
      if (i == axis)
        dims[i] = d == kDynamic || dims[i] == kDynamic ? kDynamic : dims[i] + d;
      else if (dims[i] == kDynamic)
        dims[i] = d;
      else if (d != kDynamic && d != dims[i])
        return emitOptionalError(loc, "inputs differ at dim ", i, " (", dims[i], " vs ", d, ")");
    }
  }
  results.push_back(first.clone(dims));
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) { return getInputs().size() == 1 ? getInputs().front() : Value(); }

LogicalResult ConcatOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  Dims dims(operands[0].shape);
  dims[getAxis()] = 0;
  for (const HostTensor &t : operands)
    dims[getAxis()] += t.shape[getAxis()];
  HostTensor out = HostTensor::zeros(RankedTensorType::get(dims, operands[0].elementType));
  Dims strides = stridesOf(dims);
  int64_t base = 0;
  for (const HostTensor &t : operands) {
    StridedIndex index(t.shape, strides, base * strides[getAxis()]);
    for (int64_t i = 0, n = t.elementCount(); i < n; ++i, index.next())
      out.copyElement(index.offset, t, i);
    base += t.shape[getAxis()];
  }
  results.push_back(std::move(out));
  return success();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  if (failed(checkEither(loc, "pads", adaptor.getPadsOperand(), adaptor.getPads().has_value())))
    return failure();
  Dims dims(type.getShape());
  size_t rank = dims.size();
  std::optional<Dims> pads = attrOrConstant(adaptor.getPads(), adaptor.getPadsOperand());
  if (pads && pads->size() != 2 * rank)
    return emitOptionalError(loc, "pads has ", pads->size(), " values, expected ", 2 * rank);
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = pads && dims[i] != kDynamic ? dims[i] + (*pads)[i] + (*pads)[rank + i] : kDynamic;
    if (dims[i] < 0 && dims[i] != kDynamic)
      return emitOptionalError(loc, "dim ", i, " becomes negative (", dims[i], ")");
  }
  results.push_back(type.clone(dims));
  return success();
}

LogicalResult PadOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  size_t next = 1, rank = x.shape.size();
  Dims pads;
  if (getPadsOperand())
    pads.assign(operands[1].ints().begin(), operands[1].ints().end()), ++next;
  else
    pads = Dims(*getPads());
  Dims dims(x.shape);
  for (size_t i = 0; i < rank; ++i)
    dims[i] += pads[i] + pads[rank + i];
  HostTensor out = HostTensor::zeros(RankedTensorType::get(dims, x.elementType));
  Dims own = stridesOf(x.shape);
  StridedIndex walk(dims, stridesOf(dims));
  for (int64_t i = 0, n = out.elementCount(); i < n; ++i, walk.next()) {
    int64_t source = 0;
    bool inside = true;
    for (size_t d = 0; d < rank; ++d) {
      int64_t at = walk.index[d] - pads[d];
      inside &= at >= 0 && at < x.shape[d];
      source += at * own[d];
    }
    if (inside)
      out.copyElement(i, x, source);
    else if (getValue())
      out.copyElement(i, operands[next], 0);
  }
  results.push_back(std::move(out));
  return success();
}
