//===- Evaluate.cpp - reference interpreter over functions ----------------===//
#include "dialects/graph/Evaluate.h"

#include "dialects/graph/Eval.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Infer.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

/// 32 GiB of doubles; more would end in bad_alloc, that is in an abort.
static bool isAffordable(ArrayRef<int64_t> dims) {
  std::optional<int64_t> count = elementCount(dims);
  return count && *count <= int64_t(1) << 32;
}

static LogicalResult checkSize(Operation *op, ArrayRef<int64_t> dims) {
  if (isAffordable(dims))
    return success();
  return op->emitOpError("cannot be evaluated: ") << dimsText(dims) << " elements are more than 2^32";
}

FailureOr<HostTensor> graph::allocate(Operation *op, ArrayRef<int64_t> dims, Type element) {
  if (failed(checkDims(op->getLoc(), dims)) || failed(checkSize(op, dims)))
    return failure();
  return HostTensor::zeros(RankedTensorType::get(dims, element));
}

HostTensor graph::gatherStrided(const HostTensor &source, HostTensor out, ArrayRef<int64_t> strides, int64_t start) {
  withData(out, source, [&](auto &to, const auto &from) {
    forEachElement<1>(out.shape, {Dims(strides)}, {start}, [&](int64_t i, auto at) { to[i] = from[at[0]]; });
  });
  return out;
}

/// The value, or failure after a diagnostic at `loc`.
static FailureOr<HostTensor> read(ConstantOp constant, WeightSource *weights) {
  auto type = cast<RankedTensorType>(constant.getValue().getType());
  WeightAttr weight = constant.getWeight();
  if (failed(checkSize(constant, type.getShape()))) // a splat may have any size
    return failure();
  if (!weight)
    return HostTensor::fromElements(cast<ElementsAttr>(constant.getValue()));
  if (!weights)
    return constant.emitOpError("weight '") << weight.getName() << "' cannot be read: no file is open";
  ArrayRef<char> bytes = weights->bytes(weight.getFile(), weight.getOffset(), weight.getLength(), constant.getLoc());
  if (bytes.size() != weight.getLength())
    return failure();
  return HostTensor::fromBytes(type, bytes);
}

std::optional<HostTensor> graph::constantValue(Value value, WeightSource *weights) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || (constant.getWeight() && !weights) || !isAffordable(constant.getType().getShape()))
    return std::nullopt;
  FailureOr<HostTensor> tensor = read(constant, weights);
  return succeeded(tensor) ? std::optional(std::move(*tensor)) : std::nullopt;
}

namespace {

/// Values of one region; each is dropped after its last use so that a large model needs its live set only.
class Interpreter {
public:
  Interpreter(WeightSource *weights, llvm::function_ref<void(OpResult, const HostTensor &)> observe)
      : weights(weights), observe(observe) {}

  LogicalResult run(Block &block, ArrayRef<HostTensor> arguments, SmallVectorImpl<HostTensor> &results) {
    for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
      define(argument, value);
    for (Operation &op : block.without_terminator())
      if (failed(step(op)))
        return failure();
    for (Value v : block.getTerminator()->getOperands())
      results.push_back(values.at(v));
    return success();
  }

private:
  void define(Value v, HostTensor value) {
    if (v.use_empty())
      return;
    usesLeft[v] = std::distance(v.use_begin(), v.use_end());
    values[v] = std::move(value);
  }

  HostTensor take(Value v) {
    if (--usesLeft[v] > 0)
      return values.at(v);
    HostTensor last = std::move(values.at(v));
    values.erase(v);
    return last;
  }

  LogicalResult step(Operation &op) {
    if (op.getNumResults() == 0 && !isa<GraphOpInterface>(op)) // check.*: it observes, its reader is `observe`
      return success();
    SmallVector<HostTensor> results;
    if (failed(compute(op, results)))
      return failure();
    for (auto [result, value] : llvm::zip_equal(op.getResults(), results)) {
      if (failed(verifyCompatibleShape(dimsOf(result), value.shape)))
        return op.emitOpError("result has shape ") << dimsText(value.shape) << ", declared " << dimsText(dimsOf(result));
      if (observe)
        observe(result, value);
      define(result, std::move(value));
    }
    return success();
  }

  LogicalResult compute(Operation &op, SmallVectorImpl<HostTensor> &results) {
    if (auto constant = dyn_cast<ConstantOp>(op)) { // here, not in its evaluate(), because the weights are here
      FailureOr<HostTensor> value = read(constant, weights);
      if (succeeded(value))
        results.push_back(std::move(*value));
      return value;
    }
    auto graphOp = dyn_cast<GraphOpInterface>(op);
    if (!graphOp)
      return op.emitOpError("cannot be evaluated: no op of the graph dialect");
    SmallVector<HostTensor> operands;
    for (Value v : op.getOperands())
      operands.push_back(take(v));
    if (auto group = dyn_cast<GroupOp>(op))
      return evaluateRegion(group.getBody(), operands, results, weights, observe);
    return graphOp.evaluate(operands, results);
  }

  WeightSource *weights;
  llvm::function_ref<void(OpResult, const HostTensor &)> observe;
  DenseMap<Value, HostTensor> values;
  DenseMap<Value, int64_t> usesLeft;
};

} // namespace

LogicalResult graph::evaluateRegion(Region &region, ArrayRef<HostTensor> arguments,
                                    SmallVectorImpl<HostTensor> &results, WeightSource *weights,
                                    llvm::function_ref<void(OpResult, const HostTensor &)> observe) {
  return Interpreter(weights, observe).run(region.front(), arguments, results);
}
