//===- TransposeTiles.cpp - pieces whose reads run across the vectors -----===//
#include "lib/Target/cpu/emit/TransposeTiles.h"

#include "lib/Target/cpu/emit/Tiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;

int64_t cpu::squareSide(const Isa &isa, graph::GroupOp group, const Piece &piece) {
  return std::min<int64_t>(laneCount(isa, group, piece.widestBytes), 16);
}

static bool isCross(const LeafRead &read, const IndexSpace &space) {
  int64_t stride = read.index.coefficient(space.run());
  return stride != 0 && stride != 1;
}

std::optional<unsigned> cpu::crossVariable(const Piece &piece, int64_t side) {
  const IndexSpace &space = piece.space;
  std::optional<unsigned> cross;
  for (const LeafRead &read : piece.reads) {
    for (auto [v, c] : read.index.terms)
      if (v >= space.loops)
        return std::nullopt; // derived variables change within a square
    if (!isCross(read, space))
      continue;
    unsigned own = space.run();
    for (auto [v, c] : read.index.terms)
      if (c == 1)
        own = v;
    if (own == space.run() || (cross && *cross != own))
      return std::nullopt;
    cross = own;
  }
  if (piece.perLane || side < 4 || !cross || space.variables[*cross].extent < side || space.runExtent() < side)
    return std::nullopt;
  return cross;
}

SmallVector<IndexSpace, 3> cpu::cutToSquares(const Piece &piece, unsigned cross, int64_t side) {
  SmallVector<IndexSpace, 3> parts{piece.space};
  for (unsigned v : {cross, piece.space.run()}) {
    int64_t extent = parts[0].variables[v].extent, whole = extent / side * side;
    if (whole == extent)
      continue;
    auto [squares, rest] = parts[0].cut(v, whole);
    parts[0] = squares;
    parts.push_back(rest);
  }
  return parts;
}

Tasks cpu::stripTasks(const Piece &piece, unsigned cross, int64_t side) {
  IndexSpace strips = piece.space;
  strips.variables[cross].extent /= side;
  return Tasks(strips, side);
}

void cpu::emitStrips(PieceLoops &loops, FusedEmitter &f, const Piece &piece, unsigned cross, int64_t side,
                     PieceLoops::Body row) {
  Piece strips = piece;
  strips.space.variables[cross].depth = 1; // takes `side` values inside the run's loop
  strips.space.variables[cross].extent /= side;
  loops.emitStrips(strips, Tasks(strips.space, side), side, [&](Value run) {
    OpBuilder &b = f.builder();
    auto constant = [&](int64_t v) { return arith::ConstantIndexOp::create(b, f.loc, v).getResult(); };
    Value block = f.indexValue(Affine::variable(cross));
    Value first = arith::MulIOp::create(b, f.loc, block, constant(side));
    f.bind(cross, first);
    f.bindRun(run);
    f.setWidth(side);
    TileBuilder tile(b, loops.isa);
    tile.lanes = side;
    SmallVector<std::pair<const LeafRead *, SmallVector<Value>>> squares;
    for (const LeafRead &read : piece.reads)
      if (isCross(read, piece.space))
        squares.push_back({&read, transposeSquare(tile, f.loadLines(read, side))});
    for (int64_t i = 0; i < side; ++i) {
      f.bind(cross, i ? arith::AddIOp::create(b, f.loc, first, constant(i)).getResult() : first);
      f.bindRun(run);
      for (auto &[read, lines] : squares)
        f.rememberStored(*read, lines[i]);
      row();
    }
    f.bind(cross, block); // the next iteration is emitted with the same variable
  });
}
