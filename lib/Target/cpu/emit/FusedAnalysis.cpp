//===- FusedAnalysis.cpp - loops in which a group is cheap ----------------===//
#include "lib/Target/cpu/emit/Fused.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

static RankedTensorType tensorOf(Value v) { return cast<RankedTensorType>(v.getType()); }

/// More pieces than this and every operand of a concat is read and selected from instead.
static constexpr size_t kMaxPieces = 16;

void FusedAnalysis::define(unsigned variable, const Derived &derived) {
  piece.perLane |= space.variables[variable].perLane;
  if (derived.kind == Derived::Gathered)
    visit(derived.tensor, derived.index);
}

void FusedAnalysis::visit(Value tensor, const Affine &index) {
  if (!isSupported || space.refinement)
    return;
  auto &seen = visited[tensor];
  if (llvm::is_contained(seen, index))
    return;
  seen.push_back(index);
  bool varies = !space.isUniform(index);
  if (varies)
    piece.widestBytes =
        std::max(piece.widestBytes, storedType(tensorOf(tensor).getElementType()).getIntOrFloatBitWidth() / 8);
  if (known)
    if (std::optional<bool> served = known(tensor, index, space)) {
      isSupported &= *served;
      return;
    }
  if (Operation *op = tensor.getDefiningOp())
    visitOp(op, index);
  else
    piece.reads.push_back({tensor, index});
}

void FusedAnalysis::visitOp(Operation *op, const Affine &index) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ConstantOp c) {
        if (!isa<DenseElementsAttr>(c.getValue()))
          isSupported = false;
        else if (!cast<DenseElementsAttr>(c.getValue()).isSplat())
          piece.reads.push_back({c.getResult(), index});
      })
      .Case([](FillOp) {})
      .Case<UnaryOp, BinaryOp, SelectOp, CastOp, BroadcastOp, ReshapeOp, SqueezeOp, UnsqueezeOp, TransposeOp, SliceOp>(
          [&](auto o) {
            if (auto slice = dyn_cast<SliceOp>(o.getOperation()); slice && !slice.getStarts()) {
              isSupported = false;
              return;
            }
            unsigned tensors = isa<UnaryOp, BinaryOp, SelectOp, CastOp>(o) ? o->getNumOperands() : 1;
            for (unsigned i = 0; i < tensors; ++i)
              visit(o->getOperand(i), operandIndex(o, i, index));
          })
      .Case([&](ConcatOp c) {
        SmallVector<ConcatPart> parts = concatParts(c, index);
        if (parts.size() > 1 && !space.isUniform(parts[0].where))
          piece.perLane = true; // chosen element by element
        for (const ConcatPart &part : parts)
          visit(part.input, part.operand);
      })
      .Case([&](PadOp p) {
        if (!p.getPads()) {
          isSupported = false;
          return;
        }
        PadPlace place = padPlace(p, index);
        if (p.getValue())
          visit(p.getValue(), Affine());
        for (auto &[where, bound] : place.conditions)
          piece.perLane |= !space.isUniform(where);
        if (!place.isOutside)
          visit(p.getInput(), place.operand);
      })
      .Case([&](TriluOp t) {
        (void)diagonalDistance(t, index);
        visit(t.getInput(), index);
      })
      .Case([&](RangeOp r) {
        visit(r.getStart(), Affine());
        visit(r.getDelta(), Affine());
      })
      .Case([&](GatherOp g) { visit(g.getData(), gatherIndex(g, index)); })
      .Case([&](GatherElementsOp g) { visit(g.getData(), gatherElementsIndex(g, index)); })
      .Case([&](GatherNDOp g) { visit(g.getData(), gatherNDIndex(g, index)); })
      .Default([&](Operation *) { isSupported = false; });
}

std::optional<Piece> FusedAnalysis::walk(Roots roots, const IndexSpace &space, bool mayCut,
                                         std::optional<Refinement> &refinement, const Known &known) {
  FusedAnalysis analysis(space, mayCut, known);
  SmallVector<std::pair<Value, Affine>> accesses;
  roots(analysis, accesses);
  for (auto &[tensor, index] : accesses)
    analysis.visit(tensor, index);
  refinement = analysis.space.refinement;
  if (!analysis.isSupported || refinement)
    return std::nullopt;
  analysis.piece.space = space;
  return std::move(analysis.piece);
}

/// Splits and cuts until every piece is affine (or cannot be mended); false if an op is not supported.
static bool refine(ValueRange roots, const IndexSpace &start, bool mayCut, std::vector<Piece> &pieces) {
  SmallVector<IndexSpace> work{start};
  while (!work.empty()) {
    IndexSpace space = work.pop_back_val();
    auto atResult = [&](IndexWalk &, auto &accesses) {
      for (Value root : roots)
        accesses.push_back({root, space.result});
    };
    std::optional<Refinement> wanted;
    std::optional<Piece> piece = FusedAnalysis::walk(atResult, space, mayCut, wanted);
    if (piece)
      pieces.push_back(std::move(*piece));
    else if (!wanted)
      return false;
    else if (wanted->isCut) {
      auto [first, second] = space.cut(wanted->variable, wanted->at);
      work.push_back(second); // first comes out first
      work.push_back(first);
    } else
      work.push_back(space.split(wanted->variable, wanted->at));
  }
  return true;
}

std::optional<std::vector<Piece>> FusedAnalysis::run(ValueRange roots, int64_t count) {
  for (bool mayCut : {true, false}) {
    std::vector<Piece> pieces;
    if (!refine(roots, IndexSpace(count), mayCut, pieces))
      return std::nullopt;
    if (pieces.size() <= kMaxPieces || !mayCut)
      return pieces;
  }
  return std::nullopt;
}
