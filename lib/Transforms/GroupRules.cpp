//===- GroupRules.cpp - the rules of form-groups ---------------------------===//
#include "lib/Transforms/GroupRules.h"
#include "lib/Transforms/Match.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

/// Keeps kernels (and their compile time) small; the largest useful group seen in models.md has 14 ops.
static constexpr size_t kMaxOps = 32;

bool isGroupable(Operation *op) {
  return isa<GraphOpInterface>(op) && !isa<ConstantOp, ReshapeOp, SqueezeOp, UnsqueezeOp, GroupOp, YieldOp>(op);
}

//===----------------------------------------------------------------------===//
// matmul, batch_matmul
//===----------------------------------------------------------------------===//

/// The only op that uses the value (perhaps twice), or null.
static Operation *onlyUser(Value value) {
  Operation *user = nullptr;
  for (Operation *next : value.getUsers()) {
    if (user && next != user)
      return nullptr;
    user = next;
  }
  return user;
}

/// Scalar, per-column vector or a tensor of the whole shape: what an epilogue can read beside the accumulators.
static bool fitsEpilogue(Value operand, ArrayRef<int64_t> whole) {
  ArrayRef<int64_t> dims = dimsOf(operand);
  if (dims == whole || tensorType(operand).getNumElements() == 1)
    return true;
  return dims.back() == whole.back() && llvm::all_of(dims.drop_back(), [](int64_t d) { return d == 1; });
}

/// Elementwise in fp32 registers over the whole result.
static bool canFollow(Operation *op, ArrayRef<int64_t> whole, const GroupPlan &plan) {
  if (!isElementwise(op) || !plan.isFree(op) || dimsOf(op->getResult(0)) != whole)
    return false;
  auto isComputed = [](Type t) { return t.isF32() || t.isF16() || t.isBF16(); };
  return isComputed(elementOf(op->getResult(0))) && llvm::all_of(op->getOperands(), [&](Value v) {
           return fitsEpilogue(v, whole) && (isComputed(elementOf(v)) || elementOf(v).isInteger(1));
         });
}

/// The ops after `value` up to the first whose result is all that is still needed: one op in a chain, three in
/// x * sigmoid(c * x). Empty if there is none within reach.
static SmallVector<Operation *> nextStep(Value value, ArrayRef<int64_t> whole, const GroupPlan &plan) {
  constexpr size_t reach = 8; // longest diamond known: tanh-GELU that was not recomposed
  llvm::SetVector<Operation *> step;
  SmallVector<Value> open{value}; // results with users that are not in the step yet
  auto isOpen = [&](Value v) {
    return llvm::any_of(v.getUsers(), [&](Operation *user) { return !step.contains(user); });
  };
  while (step.size() < reach) {
    Operation *next = nullptr;
    for (Value v : open)
      for (Operation *user : v.getUsers())
        if (!step.contains(user) && user->getBlock() == value.getParentBlock() &&
            (!next || user->isBeforeInBlock(next)))
          next = user;
    if (!next || !canFollow(next, whole, plan))
      return {};
    step.insert(next);
    open.push_back(next->getResult(0));
    llvm::erase_if(open, [&](Value v) { return v != next->getResult(0) && !isOpen(v); });
    if (open.size() == 1)
      return step.takeVector();
  }
  return {};
}

static void growEpilogue(MatMulOp product, GroupPlan &plan) {
  auto weight = product.getRhs().getDefiningOp<ConstantOp>();
  int cluster = plan.create(weight && rankOf(product.getRhs()) == 2 ? "matmul" : "batch_matmul", product);
  Value value = product.getResult();
  while (plan.cluster(cluster).ops.size() < kMaxOps) {
    SmallVector<Operation *> step = nextStep(value, dimsOf(product.getResult()), plan);
    if (step.empty() || !plan.tryAdd(cluster, step))
      return;
    value = step.back()->getResult(0);
  }
}

//===----------------------------------------------------------------------===//
// rows
//===----------------------------------------------------------------------===//

/// The input of an op that needs statistics of the last dim, computed in fp32; null for other ops.
static Value rowInput(Operation *op) {
  Value input = TypeSwitch<Operation *, Value>(op)
                    .Case<SoftmaxOp, LayerNormOp, RmsNormOp>([](auto o) -> Value {
                      return static_cast<int64_t>(o.getAxis()) == rankOf(o.getInput()) - 1 ? o.getInput() : Value();
                    })
                    .Case([](ReduceOp o) -> Value {
                      bool last = o.getAxes().size() == 1 && o.getAxes()[0] == rankOf(o.getInput()) - 1;
                      return last && o.getKind() != ReduceKind::prod ? o.getInput() : Value();
                    })
                    .Default(Value());
  Type element = input ? elementOf(input) : Type();
  return input && (element.isF32() || element.isF16() || element.isBF16()) ? input : Value();
}

namespace {

/// Grows one rows group around a seed. `space` = [rows..., rowLength].
class RowsGrowth {
public:
  RowsGrowth(GroupPlan &plan, Operation *seed)
      : plan(plan), space(dimsOf(rowInput(seed))), cluster(plan.create("rows", seed)) {}

  void run() {
    SmallVector<Operation *> work(plan.cluster(cluster).ops);
    while (!work.empty()) {
      Operation *member = work.pop_back_val();
      for (Operation *next : neighbours(member))
        if (plan.cluster(cluster).ops.size() < kMaxOps && fits(next, member) && plan.tryAdd(cluster, next))
          work.push_back(next);
    }
  }

private:
  /// Producers first, then consumers; block order among equals, so that the result is deterministic.
  static SmallVector<Operation *> neighbours(Operation *member) {
    llvm::SetVector<Operation *> ops;
    for (Value operand : member->getOperands())
      if (Operation *source = operand.getDefiningOp())
        ops.insert(source);
    SmallVector<Operation *> users(member->getUsers());
    llvm::sort(users, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    ops.insert_range(users);
    return ops.takeVector();
  }

  bool spansRows(Value value) const {
    ArrayRef<int64_t> dims = dimsOf(value);
    bool perRow = dims.size() == space.size() && dims.back() == 1 && dims.drop_back() == space.drop_back();
    return dims == space || perRow;
  }

  bool fits(Operation *op, Operation *member) const {
    if (!plan.isFree(op) || !isGroupable(op))
      return false;
    if (Value input = rowInput(op)) // another statistic of the same rows
      return dimsOf(input) == space;
    bool isProducer = llvm::is_contained(op->getUsers(), member);
    if (auto gather = dyn_cast<GatherOp>(op)) // rows of a table, read where they are needed
      return isProducer && gather.getAxis() == 0 && rankOf(gather.getData()) == 2 &&
             dimsOf(gather.getResult()) == space && onlyUser(gather.getResult()) == member;
    if (!isElementwise(op) || !spansRows(op->getResult(0)))
      return false;
    return !isProducer || staysInside(op);
  }

  /// A producer with users outside becomes an extra result; worth it only for what the row pass reads at full width.
  bool staysInside(Operation *op) const {
    bool allInside = llvm::all_of(op->getUsers(), [&](Operation *user) { return plan.clusterOf(user) == cluster; });
    return allInside || dimsOf(op->getResult(0)) == space;
  }

  GroupPlan &plan;
  ArrayRef<int64_t> space;
  int cluster;
};

} // namespace

//===----------------------------------------------------------------------===//
// pointwise
//===----------------------------------------------------------------------===//

static bool isPointwise(Operation *op) {
  return isElementwise(op) || isa<BroadcastOp, SliceOp, TransposeOp, ConcatOp, PadOp, TriluOp, GatherOp>(op);
}

/// The cluster of a pointwise user that iterates over the op's own shape and reads it element by element, or -1.
static int joinableCluster(Operation *op, Operation *user, const GroupPlan &plan) {
  int index = plan.clusterOf(user);
  bool joinable = index >= 0 && plan.cluster(index).kind == "pointwise" && isElementwise(user) &&
                  sameShape(user->getResult(0), op->getResult(0));
  return joinable ? index : -1;
}

/// Called from the last op to the first, so the users are settled. If all of them can be joined their clusters become
/// one; else the op joins the first that it can and is a result for the others; else it starts a cluster.
static void joinPointwise(Operation *op, GroupPlan &plan) {
  SmallVector<Operation *> users(op->getUsers());
  llvm::sort(users, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::SetVector<int> clusters;
  bool all = true;
  for (Operation *user : users) {
    int index = user->getBlock() == op->getBlock() ? joinableCluster(op, user, plan) : -1;
    all &= index >= 0;
    if (index >= 0)
      clusters.insert(index);
  }
  auto join = [&](ArrayRef<int> indices) {
    size_t count = 1;
    for (int index : indices)
      count += plan.cluster(index).ops.size();
    return !indices.empty() && count <= kMaxOps && plan.tryMerge(indices, op);
  };
  if (all && join(clusters.getArrayRef()))
    return;
  if (llvm::none_of(clusters, [&](int index) { return join(index); }))
    plan.create("pointwise", op);
}

void applyGroupRules(Block &block, GroupPlan &plan) {
  for (Operation &op : block) {
    if (auto product = dyn_cast<MatMulOp>(op))
      growEpilogue(product, plan);
    else if (isa<AttentionOp>(op))
      plan.create("attention", &op);
  }
  for (Operation &op : block)
    if (plan.isFree(&op) && rowInput(&op))
      RowsGrowth(plan, &op).run();
  for (Operation &op : llvm::reverse(block)) {
    if (!plan.isFree(&op) || !isGroupable(&op))
      continue;
    if (isPointwise(&op))
      joinPointwise(&op, plan);
    else
      plan.create("generic", &op);
  }
}

} // namespace gaudi::transforms
