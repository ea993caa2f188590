//===- FormGroups.cpp - wrap everything that computes into graph.group -----===//
#include "lib/Transforms/GroupRules.h"
#include "lib/Transforms/Match.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Pipelines.h"
#include "lib/Transforms/Simplify.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

#define GEN_PASS_DEF_FORMGROUPS
#include "lib/Transforms/Passes.h.inc"

namespace {

/// Constants of at most this many equal elements go into the body, where emitters see literals.
constexpr int64_t kMaxLiteralElements = 16;

bool isLiteral(Value value, ArrayRef<Operation *> users) {
  if (!value.getDefiningOp<ConstantOp>() || !scalarOf(value) ||
      tensorType(value).getNumElements() > kMaxLiteralElements)
    return false;
  // Contractions, tables and scatters want their operands in memory whatever the size.
  return llvm::none_of(users, [&](Operation *op) {
    return isa<MatMulOp, AttentionOp, GatherOp, ScatterNDOp>(op) && llvm::is_contained(op->getOperands(), value);
  });
}

/// Builds the group of `ops` (in block order) at the builder and replaces their outside uses.
class GroupBuilder {
public:
  GroupBuilder(OpBuilder &builder, ArrayRef<Operation *> ops, StringRef kind)
      : builder(builder), ops(ops), kind(kind) {}

  void build() {
    collect();
    auto group = GroupOp::create(builder, location(), llvm::map_to_vector(results, [](Value v) { return v.getType(); }),
                                 inputs.getArrayRef(), kind);
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&group.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
    for (Value literal : literals)
      builder.clone(*literal.getDefiningOp(), mapping);
    for (Operation *op : ops)
      builder.clone(*op, mapping);
    YieldOp::create(builder, group.getLoc(), llvm::map_to_vector(results, [&](Value v) { return mapping.lookup(v); }));
    for (auto [old, fresh] : llvm::zip(results, group.getResults()))
      old.replaceAllUsesWith(fresh);
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }

private:
  void collect() {
    llvm::SmallPtrSet<Operation *, 16> inside(ops.begin(), ops.end());
    for (Operation *op : ops) {
      for (Value operand : op->getOperands())
        if (!operand.getDefiningOp() || !inside.contains(operand.getDefiningOp()))
          (isLiteral(operand, ops) ? literals : inputs).insert(operand);
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
          results.push_back(result);
    }
  }

  /// Names every op inside, so that a profile can name the ONNX nodes of a kernel.
  Location location() {
    return FusedLoc::get(builder.getContext(),
                         llvm::map_to_vector(ops, [](Operation *op) -> Location { return op->getLoc(); }));
  }

  OpBuilder &builder;
  ArrayRef<Operation *> ops;
  StringRef kind;
  llvm::SetVector<Value> inputs, literals;
  SmallVector<Value> results;
};

/// Norms and softmax over other dims than the last have no rows: primitives serve them.
void decomposeOffRow(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool offRow =
        TypeSwitch<Operation *, bool>(&op)
            .Case<SoftmaxOp, LayerNormOp, RmsNormOp>([](auto o) {
              return static_cast<int64_t>(o.getAxis()) != rankOf(o.getInput()) - 1 || elementOf(o.getInput()).isF64();
            })
            .Default(false);
    if (!offRow)
      continue;
    OpBuilder builder(&op);
    FailureOr<SmallVector<Value>> values = cast<GraphOpInterface>(op).decompose(builder);
    if (failed(values))
      continue;
    passOnValueName(&op, *values);
    op.replaceAllUsesWith(*values);
    op.erase();
  }
}

/// Views become reshapes; with `sink`, they move out of the way of fusion.
void arrangeViews(func::FuncOp func, bool sink) {
  MLIRContext *context = func.getContext();
  RewritePatternSet patterns(context);
  if (sink) {
    addSinkMatMulReshapePatterns(patterns);
    ReshapeOp::getCanonicalizationPatterns(patterns, context);
  }
  SqueezeOp::getCanonicalizationPatterns(patterns, context);
  UnsqueezeOp::getCanonicalizationPatterns(patterns, context);
  rewriteGreedily(func, std::move(patterns));
}

void formByRules(Block &block) {
  GroupPlan plan(block);
  applyGroupRules(block, plan);
  Operation *terminator = block.getTerminator();
  for (ArrayRef<Operation *> ops : plan.order()) {
    int cluster = plan.clusterOf(ops.front());
    if (cluster < 0) {
      ops.front()->moveBefore(terminator);
      continue;
    }
    OpBuilder builder(terminator);
    GroupBuilder(builder, ops, plan.cluster(cluster).kind).build();
  }
}

void formOnePerOp(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block.without_terminator())))
    if (op.use_empty() && isPure(&op))
      op.erase();
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (!isGroupable(&op))
      continue;
    OpBuilder builder(&op);
    GroupBuilder(builder, &op, "generic").build();
  }
}

struct FormGroupsPass : impl::FormGroupsBase<FormGroupsPass> {
  using FormGroupsBase::FormGroupsBase;
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    Block &block = func.getBody().front();
    if (!eachOp)
      decomposeOffRow(block);
    arrangeViews(func, /*sink=*/!eachOp);
    if (failed(requireStaticShapes(func))) // views too: one to a computed shape would be an output of unknown size
      return signalPassFailure();
    if (eachOp)
      formOnePerOp(block);
    else
      formByRules(block);
    for (ConstantOp constant : llvm::make_early_inc_range(block.getOps<ConstantOp>()))
      if (constant.use_empty()) // cloned into groups
        constant.erase();
  }
};

} // namespace
} // namespace gaudi::transforms
