//===- VerifyStage.cpp - what may appear at a stage ------------------------===//
//
//   graph     any op of graph (no groups), func.return, check ops
//   static    graph, and every type is static, every shape or bound is an attribute
//   grouped   in the function: constants, groups and reshapes (views); in a group: static ops without nested groups
//
//===----------------------------------------------------------------------===//
#include "lib/Transforms/Match.h"
#include "lib/Transforms/Passes.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

#define GEN_PASS_DEF_VERIFYSTAGE
#include "lib/Transforms/Passes.h.inc"

namespace {

bool hasStaticTypes(Operation *op) {
  return llvm::all_of(op->getResultTypes(), [](Type t) {
    auto tensor = dyn_cast<RankedTensorType>(t);
    return !tensor || tensor.hasStaticShape();
  });
}

bool hasShapeOperands(Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case<ReshapeOp, BroadcastOp>([](auto o) { return bool(o.getShapeOperand()); })
      .Case([](SliceOp o) { return o.getStartsOperand() || o.getEndsOperand() || o.getStepsOperand(); })
      .Case([](PadOp o) { return bool(o.getPadsOperand()); })
      .Default(false);
}

LogicalResult checkGraph(Operation *op, StringRef stage) {
  bool known = isa<GraphDialect>(op->getDialect()) || op->hasTrait<OpTrait::IsTerminator>() ||
               op->getName().getDialectNamespace() == "check";
  if (!known || isa<GroupOp>(op))
    return op->emitError("op '") << op->getName() << "' may not appear at stage '" << stage << "'";
  return success();
}

LogicalResult checkStatic(Operation *op, StringRef stage) {
  if (failed(checkGraph(op, stage)))
    return failure();
  if (!hasStaticTypes(op))
    return op->emitError("stage '") << stage << "' needs static shapes (found " << op->getResultTypes() << ")";
  if (hasShapeOperands(op))
    return op->emitError("stage '") << stage << "' needs shapes as attributes (found a shape operand)";
  return success();
}

LogicalResult checkGrouped(Operation *op, StringRef stage) {
  if (auto group = dyn_cast<GroupOp>(op)) {
    for (Operation &inner : group.getBody().front())
      if (failed(checkStatic(&inner, stage)))
        return failure();
    return success();
  }
  if (isa<ConstantOp, ReshapeOp>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
      op->getName().getDialectNamespace() == "check")
    return checkStatic(op, stage);
  return op->emitError("op '") << op->getName() << "' is outside of a group at stage '" << stage << "'";
}

struct VerifyStagePass : impl::VerifyStageBase<VerifyStagePass> {
  using VerifyStageBase::VerifyStageBase;

  void runOnOperation() override {
    auto *check = llvm::StringSwitch<LogicalResult (*)(Operation *, StringRef)>(stage)
                      .Case("graph", checkGraph)
                      .Case("static", checkStatic)
                      .Case("grouped", checkGrouped)
                      .Default(nullptr);
    markAllAnalysesPreserved();
    if (!check) {
      getOperation().emitError("stage '") << stage << "' is not known (expected graph, static or grouped)";
      return signalPassFailure();
    }
    for (Block &block : getOperation().getBody())
      for (Operation &op : block)
        if (failed(check(&op, stage)))
          return signalPassFailure();
  }
};

} // namespace
} // namespace gaudi::transforms
