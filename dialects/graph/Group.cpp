//===- Group.cpp - ops that become one kernel -----------------------------===//
#include "dialects/graph/Evaluate.h"
#include "dialects/graph/Graph.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

#define GET_OP_CLASSES
#include "dialects/graph/GraphOps.cpp.inc"

LogicalResult GroupOp::verify() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("block arguments differ from the operands' types");
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getValues().getTypes() != getResultTypes())
    return emitOpError("yielded types differ from the result types");
  return success();
}

LogicalResult GroupOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  return evaluateRegion(getBody(), operands, results, nullptr);
}
