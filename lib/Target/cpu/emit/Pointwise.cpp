//===- Pointwise.cpp - fused elementwise and data-movement kernels --------===//
//
// One pass over the rows of the results; every element is computed from the group's inputs, vectorised along the last
// dim when all accesses are regular there. As the "generic" emitter the same code takes single ops of any kind.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/Emit.h"
#include "lib/Target/cpu/emit/Loops.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

static ValueRange yielded(GroupOp group) { return group.getBody().front().getTerminator()->getOperands(); }
static ArrayRef<int64_t> dimsOf(Value v) { return cast<RankedTensorType>(v.getType()).getShape(); }

/// True if element i of the value needs no element of `argument` but number i.
static bool readsOnlyOwnElement(Value value, Value argument) {
  if (value == argument)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || isa<ConstantOp>(op))
    return true;
  bool pointwise = isa<UnaryOp, BinaryOp, SelectOp, CastOp>(op);
  return llvm::all_of(op->getOperands(), [&](Value v) {
    if (pointwise && v.getType() != value.getType() && dimsOf(v) != dimsOf(value)) // broadcast operand
      pointwise = false;
    if (!pointwise) { // anything that moves elements must not reach the argument at all
      llvm::SmallVector<Value> stack{v};
      while (!stack.empty()) {
        Value w = stack.pop_back_val();
        if (w == argument)
          return false;
        if (Operation *def = w.getDefiningOp())
          llvm::append_range(stack, def->getOperands());
      }
      return true;
    }
    return readsOnlyOwnElement(v, argument);
  });
}

/// A result may take over an operand of its own type that is only ever read at the element being written, by any result.
void cpu::permitInPlace(GroupOp group, KernelPlan &plan) {
  plan.inPlace.resize(group->getNumResults());
  for (auto [r, type] : llvm::enumerate(group.getResultTypes()))
    for (BlockArgument arg : group.getBody().getArguments()) {
      bool safe = arg.getType() == type &&
                  llvm::all_of(yielded(group), [&](Value v) { return readsOnlyOwnElement(v, arg); });
      if (safe && group->getNumResults() == 1)
        plan.inPlace[r].push_back(arg.getArgNumber());
    }
}

static std::optional<KernelPlan> matchElements(const EmitRequest &request) {
  GroupOp group = request.group;
  if (!canComputeElements(group))
    return std::nullopt;
  ArrayRef<int64_t> dims = dimsOf(group.getResults().front());
  for (Value result : group.getResults())
    if (dimsOf(result) != dims)
      return std::nullopt;
  KernelPlan plan;
  plan.inputLayouts.resize(group.getInputs().size());
  sizeGrid(plan, rowCount(dims), rowLength(dims), request.threads);
  permitInPlace(group, plan);
  return plan;
}

static void emitElements(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) {
  GroupOp group = request.group;
  OpBuilder &b = k.builder;
  Location loc = b.getUnknownLoc();
  ArrayRef<int64_t> dims = dimsOf(group.getResults().front());
  bool vectors = llvm::all_of(yielded(group), lanesRegular) && !dims.empty();
  int64_t width = vectors ? request.isa.lanesF32() : 1;
  ElementEmitter values(k, group);
  forLoop(b, loc, k.lo, k.hi, 1, [&](Value row) {
    Indices indices = leadingIndices(b, loc, row, dims);
    forRow(b, loc, rowLength(dims), width, [&](Index j, int64_t w) {
      if (!dims.empty())
        indices.back() = j;
      for (auto [i, v] : llvm::enumerate(yielded(group)))
        values.store(i, values.at(v, indices, w), indices, w);
    });
  });
  values.finish();
}

Emitter cpu::pointwiseEmitter() { return {"pointwise", matchElements, emitElements}; }
