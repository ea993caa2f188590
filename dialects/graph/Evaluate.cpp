//===- Evaluate.cpp - reference interpreter over functions ----------------===//
#include "dialects/graph/Evaluate.h"

#include "dialects/graph/Graph.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

static std::optional<HostTensor> valueOf(ConstantOp constant, WeightSource *weights) {
  WeightAttr weight = constant.getWeight();
  if (!weight)
    return HostTensor::fromElements(cast<ElementsAttr>(constant.getValue()));
  if (!weights)
    return std::nullopt;
  auto type = cast<RankedTensorType>(weight.getType());
  ArrayRef<char> bytes = weights->bytes(weight.getFile(), weight.getOffset(), weight.getLength(), constant.getLoc());
  if (bytes.empty() && weight.getLength())
    return std::nullopt;
  return HostTensor::fromBytes(type, bytes);
}

std::optional<HostTensor> graph::constantValue(Value value, WeightSource *weights) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? valueOf(constant, weights) : std::nullopt;
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
    if (op.getNumResults() == 0 && !isa<GraphOpInterface>(op)) // observes only (check.*): its reader is `observe`
      return success();
    SmallVector<HostTensor> operands, results;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      std::optional<HostTensor> value = valueOf(constant, weights);
      if (!value)
        return op.emitOpError("weight is not available");
      results.push_back(std::move(*value));
    } else {
      auto graphOp = dyn_cast<GraphOpInterface>(op);
      if (!graphOp)
        return op.emitOpError("cannot be evaluated");
      for (Value v : op.getOperands())
        operands.push_back(take(v));
      if (failed(graphOp.evaluate(operands, results)))
        return failure();
    }
    for (auto [result, value] : llvm::zip_equal(op.getResults(), results)) {
      if (observe)
        observe(result, value);
      define(result, std::move(value));
    }
    return success();
  }

  WeightSource *weights;
  llvm::function_ref<void(OpResult, const HostTensor &)> observe;
  DenseMap<Value, HostTensor> values;
  DenseMap<Value, int64_t> usesLeft;
};

} // namespace

LogicalResult graph::evaluateRegion(Region &region, ArrayRef<HostTensor> arguments, SmallVectorImpl<HostTensor> &results,
                                    WeightSource *weights,
                                    llvm::function_ref<void(OpResult, const HostTensor &)> observe) {
  return Interpreter(weights, observe).run(region.front(), arguments, results);
}
