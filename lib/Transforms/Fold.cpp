//===- Fold.cpp - evaluation of ops on constants ---------------------------===//
#include "lib/Transforms/Fold.h"

#include "dialects/graph/Evaluate.h"
#include "lib/Transforms/Match.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

namespace {

/// Origin: models.md 1.6, the largest shape subgraph (a T5 mask of 512 x 512 indices) needs 2 MiB an op.
constexpr uint64_t kMaxIntegerBytes = 16 << 20;
/// Above this floats are worth folding only when memory shrinks: the rest stays a weight reference or is computed.
constexpr uint64_t kMaxFloatBytes = 4 << 10;
/// A folded matmul or the like must not cost seconds of the slow evaluator.
constexpr double kMaxFlops = 1 << 24;

std::optional<SmallVector<int64_t>> constantInts(Value value) {
  DenseIntElementsAttr dense;
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  if (!constant || !(dense = dyn_cast<DenseIntElementsAttr>(constant.getValue())))
    return std::nullopt;
  return llvm::map_to_vector(dense.getValues<APInt>(), [](const APInt &v) { return v.getSExtValue(); });
}

/// Moves one constant operand into an attribute.
template <typename SetAttr> bool moveOperand(MutableOperandRange operand, SetAttr setAttr) {
  if (operand.empty())
    return false;
  std::optional<SmallVector<int64_t>> values = constantInts(operand[0].get());
  if (!values)
    return false;
  operand.clear();
  setAttr(*values);
  return true;
}

bool withinLimits(Operation *op) {
  uint64_t inputBytes = 0;
  for (Value operand : op->getOperands())
    inputBytes += byteSize(tensorType(operand));
  for (Value result : op->getResults()) {
    auto type = tensorType(result);
    if (!type.hasStaticShape())
      return false;
    uint64_t bytes = byteSize(type);
    bool isFloat = isa<FloatType>(type.getElementType());
    if (bytes > kMaxIntegerBytes || (isFloat && bytes > kMaxFloatBytes && bytes > inputBytes))
      return false;
  }
  return cast<GraphOpInterface>(op).cost().flops <= kMaxFlops;
}

/// Elementwise and moving ops on splats give a splat: evaluate one element, whatever the size.
bool isSplatPreserving(Operation *op) {
  return isElementwise(op) || isa<BroadcastOp, ReshapeOp, SqueezeOp, UnsqueezeOp, TransposeOp, SliceOp>(op);
}

HostTensor oneElement(DenseElementsAttr splat) {
  return HostTensor::fromElements(splat.resizeSplat(RankedTensorType::get({}, splat.getElementType())));
}

DenseElementsAttr evaluateSplat(Operation *op) {
  SmallVector<HostTensor> operands, results;
  for (Value operand : op->getOperands()) {
    auto dense = dyn_cast<DenseElementsAttr>(operand.getDefiningOp<ConstantOp>().getValue());
    if (!dense || !dense.isSplat())
      return {};
    operands.push_back(oneElement(dense));
  }
  auto type = tensorType(op->getResult(0));
  if (operands.empty() || !type.hasStaticShape())
    return {};
  if (!isElementwise(op)) // moves elements only; its other operands were shapes and are attributes by now
    return operands.size() == 1 ? operands[0].toElements().resizeSplat(type) : DenseElementsAttr();
  if (failed(cast<GraphOpInterface>(op).evaluate(operands, results)))
    return {};
  return results[0].toElements().resizeSplat(type);
}

/// Attributes of the results; empty if not to be folded.
FailureOr<SmallVector<DenseElementsAttr>> evaluateOp(Operation *op) {
  using Values = SmallVector<DenseElementsAttr>;
  if (isSplatPreserving(op))
    if (DenseElementsAttr splat = evaluateSplat(op))
      return Values{splat};
  if (auto fill = dyn_cast<FillOp>(op)) { // the value is a splat already
    auto type = tensorType(fill.getResult());
    auto value = dyn_cast<DenseElementsAttr>(fill.getValue());
    if (type.hasStaticShape() && value && value.isSplat())
      return Values{value.resizeSplat(type)};
  }
  if (!withinLimits(op))
    return Values();
  SmallVector<HostTensor> operands, results;
  for (Value operand : op->getOperands()) {
    std::optional<HostTensor> value = constantValue(operand);
    if (!value)
      return Values();
    operands.push_back(std::move(*value));
  }
  if (failed(cast<GraphOpInterface>(op).evaluate(operands, results)))
    return failure();
  return Values(llvm::map_range(results, compactElements));
}

bool replaceByFolder(Operation *op) {
  SmallVector<OpFoldResult> folded;
  if (failed(op->fold(folded)) || folded.empty())
    return false;
  OpBuilder builder(op);
  for (auto [result, value] : llvm::zip(op->getResults(), folded)) {
    Value replacement = dyn_cast<Value>(value);
    if (!replacement)
      if (auto typed = dyn_cast<TypedAttr>(cast<Attribute>(value)); typed && typed.getType() == result.getType())
        replacement = ConstantOp::create(builder, op->getLoc(), typed);
    if (!replacement || replacement.getType() != result.getType())
      return false;
    result.replaceAllUsesWith(replacement);
  }
  return true;
}

} // namespace

bool operandsToAttributes(Operation *op) {
  Builder b(op->getContext());
  using Ints = ArrayRef<int64_t>;
  return TypeSwitch<Operation *, bool>(op)
      .Case<ReshapeOp, BroadcastOp>([&](auto o) {
        return moveOperand(o.getShapeOperandMutable(), [&](Ints v) { o.setShapeAttr(b.getDenseI64ArrayAttr(v)); });
      })
      .Case<SliceOp>([&](SliceOp o) {
        bool a = moveOperand(o.getStartsOperandMutable(), [&](Ints v) { o.setStartsAttr(b.getDenseI64ArrayAttr(v)); });
        bool e = moveOperand(o.getEndsOperandMutable(), [&](Ints v) { o.setEndsAttr(b.getDenseI64ArrayAttr(v)); });
        bool s = moveOperand(o.getStepsOperandMutable(), [&](Ints v) { o.setStepsAttr(b.getDenseI64ArrayAttr(v)); });
        return a || e || s;
      })
      .Case<PadOp>([&](PadOp o) {
        return moveOperand(o.getPadsOperandMutable(), [&](Ints v) { o.setPadsAttr(b.getDenseI64ArrayAttr(v)); });
      })
      .Default(false);
}

LogicalResult refineTypes(Operation *op) {
  auto inferable = dyn_cast<InferTypeOpInterface>(op);
  if (!inferable)
    return success();
  SmallVector<Type> types;
  if (failed(inferable.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(), op->getAttrDictionary(),
                                        op->getPropertiesStorage(), op->getRegions(), types)))
    return failure();
  for (auto [result, type] : llvm::zip(op->getResults(), types)) {
    // A declared dim may be known although the inferred one is not (import knew more): keep the better of both.
    auto declared = tensorType(result), inferred = cast<RankedTensorType>(type);
    SmallVector<int64_t> dims(inferred.getShape());
    if (declared.getRank() == inferred.getRank())
      for (auto [dim, known] : llvm::zip(dims, declared.getShape()))
        if (ShapedType::isDynamic(dim))
          dim = known;
    result.setType(inferred.clone(dims));
  }
  return success();
}

FailureOr<bool> foldOp(Operation *op) {
  if (isa<ConstantOp, GroupOp>(op) || !isa<GraphOpInterface>(op))
    return false;
  if (replaceByFolder(op))
    return true;
  bool constant = llvm::all_of(op->getOperands(), [](Value v) {
    auto source = v.getDefiningOp<ConstantOp>();
    return source && !source.getWeight();
  });
  if (!constant || op->getNumOperands() == 0)
    return false;
  FailureOr<SmallVector<DenseElementsAttr>> values = evaluateOp(op);
  if (failed(values))
    return failure();
  if (values->size() != op->getNumResults())
    return false;
  OpBuilder builder(op);
  for (auto [result, value] : llvm::zip(op->getResults(), *values)) {
    auto replacement = ConstantOp::create(builder, op->getLoc(), value);
    result.replaceAllUsesWith(replacement.getResult());
  }
  return true;
}

void updateReturnTypes(func::FuncOp func) {
  Operation *terminator = func.getBody().front().getTerminator();
  func.setFunctionType(
      FunctionType::get(func.getContext(), func.getBody().getArgumentTypes(), terminator->getOperandTypes()));
}

void eraseDead(func::FuncOp func) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

DenseElementsAttr compactElements(const HostTensor &tensor) {
  DenseElementsAttr elements = tensor.toElements();
  if (elements.isSplat() || tensor.elementCount() < 2)
    return elements;
  size_t width = elements.getElementType().isInteger(1) ? 0 : elements.getRawData().size() / tensor.elementCount();
  if (width == 0) { // i1 may be packed
    bool first = *elements.value_begin<bool>();
    bool equal = llvm::all_of(elements.getValues<bool>(), [&](bool v) { return v == first; });
    return equal ? DenseElementsAttr::get(elements.getType(), first) : elements;
  }
  // Equal bytes: shifted by one element the buffer equals itself.
  ArrayRef<char> raw = elements.getRawData();
  if (raw.drop_front(width) != raw.drop_back(width))
    return elements;
  return DenseElementsAttr::getFromRawBuffer(elements.getType(), raw.take_front(width));
}

} // namespace gaudi::transforms
