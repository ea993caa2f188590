//===- Pointwise.cpp - fused elementwise and data-movement kernels --------===//
//
// One pass over the elements of the results, which all have one shape, in the loops that FusedAnalysis finds.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/Emit.h"
#include "lib/Target/cpu/emit/TransposeTiles.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

namespace {

ValueRange yielded(GroupOp group) { return group.getBody().front().getTerminator()->getOperands(); }
RankedTensorType tensorOf(Value v) { return cast<RankedTensorType>(v.getType()); }

/// A piece with the way it is walked.
struct Part {
  Piece piece;
  int64_t side = 0;
  std::optional<unsigned> cross; ///< set: squares (TransposeTiles.h)
  Tasks tasks() const { return cross ? stripTasks(piece, *cross, side) : Tasks(piece.space); }
};

void addParts(const EmitRequest &request, Piece piece, std::vector<Part> &parts) {
  GroupOp group = request.group;
  int64_t side = squareSide(request.isa, group, piece);
  std::optional<unsigned> cross = crossVariable(piece, side);
  if (!cross)
    return parts.push_back({std::move(piece), side, cross});
  for (const IndexSpace &space : cutToSquares(piece, *cross, side)) {
    std::optional<Refinement> none;
    auto atResult = [&](IndexWalk &, auto &accesses) {
      for (Value v : yielded(group))
        accesses.push_back({v, space.result});
    };
    Piece part = *FusedAnalysis::walk(atResult, space, /*mayCut=*/false, none); // as affine as the whole
    bool isSquares = space.runExtent() % side == 0 && space.variables[*cross].extent % side == 0;
    parts.push_back({std::move(part), side, isSquares ? cross : std::nullopt});
  }
}

std::optional<std::vector<Part>> analyse(const EmitRequest &request) {
  GroupOp group = request.group;
  auto type = tensorOf(group.getResults().front());
  for (Value result : group.getResults())
    if (tensorOf(result).getShape() != type.getShape())
      return std::nullopt;
  std::optional<std::vector<Piece>> pieces = FusedAnalysis::run(yielded(group), type.getNumElements());
  if (!pieces)
    return std::nullopt;
  std::vector<Part> parts;
  for (Piece &piece : *pieces)
    if (!piece.isEmpty())
      addParts(request, std::move(piece), parts);
  return parts;
}

std::optional<KernelPlan> match(const EmitRequest &request) {
  std::optional<std::vector<Part>> parts = analyse(request);
  if (!parts)
    return std::nullopt;
  KernelPlan plan;
  GroupOp group = request.group;
  plan.inputLayouts.resize(group.getInputs().size());
  plan.grid = 0;
  std::vector<Piece> pieces;
  for (const Part &part : *parts) {
    plan.grid += part.tasks().count();
    pieces.push_back(part.piece);
  }
  plan.grid = std::max<uint64_t>(plan.grid, 1);
  permitInPlace(group, pieces, plan);
  return plan;
}

void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) {
  FusedEmitter fused(k, request.group);
  PieceLoops loops(fused, k, request.isa, request.group);
  std::vector<Part> parts = *analyse(request);
  for (const Part &part : parts) {
    auto elements = [&] {
      SmallVector<Value> results;
      for (Value v : yielded(request.group))
        results.push_back(fused.full(fused.at(v, part.piece.space.result)));
      for (auto [i, v] : llvm::enumerate(results)) // after all loads: results may lie in place of operands
        fused.store(i, part.piece.space.result, v);
    };
    if (part.cross)
      emitStrips(loops, fused, part.piece, *part.cross, part.side, elements);
    else
      loops.emit(part.piece, part.tasks(), elements);
  }
  fused.finish();
}

} // namespace

Emitter cpu::pointwiseEmitter() { return {"pointwise", match, emit}; }
