//===- GroupPlan.cpp - which ops of a block become one kernel --------------===//
#include "lib/Transforms/GroupPlan.h"

#include "llvm/ADT/PriorityQueue.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace gaudi::transforms {

GroupPlan::GroupPlan(Block &block) : block(block) {
  for (auto [i, op] : llvm::enumerate(block))
    position[&op] = i;
}

int GroupPlan::create(StringRef kind, Operation *op) {
  clusters.push_back({kind.str(), {}});
  assign(clusters.size() - 1, op);
  return clusters.size() - 1;
}

bool GroupPlan::tryMerge(ArrayRef<int> indices, ArrayRef<Operation *> ops) {
  SmallVector<Operation *> members(ops);
  for (int index : indices)
    llvm::append_range(members, clusters[index].ops);
  if (!isConvex(members))
    return false;
  for (int index : indices)
    clusters[index].ops.clear();
  assign(indices[0], members);
  return true;
}

void GroupPlan::assign(int index, ArrayRef<Operation *> ops) {
  clusters[index].ops.assign(ops.begin(), ops.end());
  llvm::sort(clusters[index].ops, [&](Operation *a, Operation *b) { return position.at(a) < position.at(b); });
  for (Operation *op : ops)
    clusterIndex[op] = index;
}

SmallVector<Operation *> GroupPlan::contracted(Operation *op) const {
  int index = clusterOf(op);
  return index < 0 ? SmallVector<Operation *>{op} : clusters[index].ops;
}

bool GroupPlan::isConvex(ArrayRef<Operation *> members) const {
  llvm::SmallPtrSet<Operation *, 32> inside(members.begin(), members.end()), seen;
  SmallVector<Operation *> work;
  for (Operation *member : members)
    for (Operation *user : member->getUsers())
      if (!inside.contains(user))
        work.push_back(user);
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (inside.contains(op))
      return false;
    if (!seen.insert(op).second)
      continue;
    for (Operation *sibling : contracted(op)) {
      seen.insert(sibling);
      llvm::append_range(work, sibling->getUsers());
    }
  }
  return true;
}

SmallVector<SmallVector<Operation *>> GroupPlan::order() const {
  // Kahn's algorithm over contracted nodes; among the ready ones the first in the block, so that a block without
  // clusters keeps its order.
  auto leader = [&](Operation *op) { return contracted(op).front(); };
  llvm::DenseMap<Operation *, unsigned> missing; // looked up only
  auto later = [&](Operation *a, Operation *b) { return position.at(a) > position.at(b); };
  llvm::PriorityQueue<Operation *, SmallVector<Operation *>, decltype(later)> ready(later);
  for (Operation &op : block.without_terminator()) {
    if (leader(&op) != &op)
      continue;
    unsigned count = 0;
    for (Operation *member : contracted(&op))
      for (Value operand : member->getOperands())
        if (Operation *source = operand.getDefiningOp(); source && leader(source) != &op)
          ++count;
    if ((missing[&op] = count) == 0)
      ready.push(&op);
  }
  SmallVector<SmallVector<Operation *>> result;
  while (!ready.empty()) {
    Operation *next = ready.top();
    ready.pop();
    result.push_back(contracted(next));
    for (Operation *member : result.back())
      for (OpOperand &use : member->getUses())
        if (Operation *user = use.getOwner(); !user->hasTrait<OpTrait::IsTerminator>())
          if (Operation *node = leader(user); node != next && --missing[node] == 0)
            ready.push(node);
  }
  return result;
}

} // namespace gaudi::transforms
