//===- Pointwise.cpp - fused elementwise and data-movement kernels --------===//
//
// One pass over the elements of the results, which all have one shape, in the loops that FusedAnalysis finds.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/Emit.h"
#include "lib/Target/cpu/emit/PieceLoops.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

namespace {

ValueRange yielded(GroupOp group) { return group.getBody().front().getTerminator()->getOperands(); }
RankedTensorType tensorOf(Value v) { return cast<RankedTensorType>(v.getType()); }

std::optional<std::vector<Piece>> analyse(GroupOp group) {
  ArrayRef<int64_t> dims = tensorOf(group.getResults().front()).getShape();
  for (Value result : group.getResults())
    if (tensorOf(result).getShape() != dims)
      return std::nullopt;
  return FusedAnalysis::run(yielded(group), tensorOf(group.getResults().front()).getNumElements());
}

/// A result may take over an operand of its size that is only ever read at the element being written: it is loaded in the
/// same step, before any store.
void permit(GroupOp group, ArrayRef<Piece> pieces, KernelPlan &plan) {
  plan.inPlace.resize(group->getNumResults());
  for (BlockArgument argument : group.getBody().getArguments()) {
    bool isSafe = llvm::all_of(pieces, [&](const Piece &piece) {
      return llvm::all_of(piece.reads, [&](const LeafRead &read) {
        return read.tensor != argument || read.index == piece.space.result;
      });
    });
    for (auto [i, type] : llvm::enumerate(group.getResultTypes()))
      if (isSafe && storedType(getElementTypeOrSelf(type)) == storedType(getElementTypeOrSelf(argument.getType())) &&
          cast<RankedTensorType>(type).getNumElements() == tensorOf(argument).getNumElements())
        plan.inPlace[i].push_back(argument.getArgNumber());
  }
}

std::optional<KernelPlan> match(const EmitRequest &request) {
  std::optional<std::vector<Piece>> pieces = analyse(request.group);
  if (!pieces)
    return std::nullopt;
  KernelPlan plan;
  GroupOp group = request.group;
  plan.inputLayouts.resize(group.getInputs().size());
  plan.grid = 0;
  for (const Piece &piece : *pieces)
    if (!piece.isEmpty())
      plan.grid += Tasks(piece.space).count();
  plan.grid = std::max<uint64_t>(plan.grid, 1);
  permit(group, *pieces, plan);
  return plan;
}

void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) {
  FusedEmitter fused(k, request.group);
  PieceLoops loops(fused, k, request.isa, request.group);
  std::vector<Piece> pieces = *analyse(request.group);
  for (const Piece &piece : pieces)
    loops.emit(piece, Tasks(piece.space), [&] {
      SmallVector<Value> results;
      for (Value v : yielded(request.group))
        results.push_back(fused.full(fused.at(v, piece.space.result)));
      for (auto [i, v] : llvm::enumerate(results)) // after all loads: results may lie in place of operands
        fused.store(i, piece.space.result, v);
    });
  fused.finish();
}

} // namespace

Emitter cpu::pointwiseEmitter() { return {"pointwise", match, emit}; }
