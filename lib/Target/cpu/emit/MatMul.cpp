//===- MatMul.cpp - products with constant, packed weights ----------------===//
//
// Weights lie in panels [N/NR][K][NR]. Three orders of work, by what stays in L2 (240 GFLOP/s per core leave no time
// for L3; figures: one Sapphire Rapids core, 2 MiB L2):
//
//   few rows    a task is up to 4 panels side by side in one tile: one row alone has only NR/lanes chains of FMAs (8
//   hide
//               the latency) and one stream of memory (several: 1.3x on GEMV, knowledge/cpu.md 3)
//   panel outer a task is (block of rows, panel): A's block stays in L2, each panel passes once. While one panel is in
//               use the next is prefetched, spread over the tiles: 57 -> 88 % of peak at 128x3072x768
//               Long K is cut in chunks with the sums in scratch: a whole next panel would push A's block out of L2
//   rows outer  many rows: a task is (group of panels, block of rows): the group stays in L2 across tasks, A and C pass
//               once, row by row, which caches and TLB like: 68 -> 87 % at 4096x1536x384
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/Emit.h"
#include "lib/Target/cpu/emit/Epilogue.h"
#include "lib/Target/cpu/emit/Loops.h"
#include "lib/Target/cpu/emit/Tiles.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

namespace {

struct Problem {
  MatMulOp op;
  unsigned lhs, rhs;      ///< operand numbers
  bool transposed, widen; ///< lhs is [K][M]; rows of lhs are converted to f32 in scratch first
  int64_t m, n, k;
  int64_t vectors, panel, panels; ///< panel = NR = vectors * lanes
  bool rowsOuter;
  int64_t perTile;         ///< panels side by side in a tile
  int64_t perTask, groups; ///< panels of a task, tasks of a row block
  RowTiles tiles;
  int64_t blocks; ///< of row tiles
  int64_t chunk;  ///< of K; sums of a task's rows wait in scratch if it is less than K
  bool unpack;    ///< 16-bit weights of a task are converted to f32 in scratch first, not in every tile
  uint64_t epilogueBytes, widenedBytes, sumBytes, unpackedBytes;
};

bool isFloat(Type t) { return t.isF32() || t.isF16() || t.isBF16(); }

/// Panels side by side in a tile: as many as fit in the registers, up to four streams.
int64_t panelsPerTile(const Problem &p, const Isa &isa, unsigned threads) {
  int64_t most = std::min<int64_t>({4, (isa.vectorRegisters - 2) / (p.vectors * (p.tiles.rows + 1)), p.panels});
  constexpr int64_t chains = 8; // beyond those, more streams only help while every worker has a task
  while (most > 1 && p.tiles.rows * p.vectors * (most - 1) >= chains && llvm::divideCeil(p.panels, most) < threads)
    --most;
  return std::max<int64_t>(most, 1);
}

void chooseOrder(Problem &p, const Isa &isa, unsigned threads) {
  int64_t panelBytes = std::max<int64_t>(p.k * p.panel, 1) * 4, rowBytes = std::max<int64_t>(p.k, 1) * 4;
  int64_t l2 = isa.l2Bytes, fit = l2 * 5 / 16 / panelBytes; // panels that stay in L2 beside A and C passing by
  constexpr int64_t fewestPanels = 2, fewestTiles = 8;      // below these, re-reading A or B costs more than it saves
  p.chunk = p.k;
  p.rowsOuter = p.perTile == 1 && p.m * rowBytes > l2 / 2 && fit >= fewestPanels && p.panels > 1;
  if (p.rowsOuter) {
    p.groups = llvm::divideCeil(p.panels, fit);
    p.perTask = llvm::divideCeil(p.panels, p.groups);
    p.groups = llvm::divideCeil(p.panels, p.perTask);
    p.blocks = std::min<int64_t>(4 * threads, p.tiles.count / fewestTiles);
  } else {
    p.perTask = p.perTile;
    p.groups = llvm::divideCeil(p.panels, p.perTask);
    int64_t residentA = l2 / 2;
    if (p.tiles.count > 1 && panelBytes > l2 / 8) {
      p.chunk = llvm::divideCeil(p.k, llvm::divideCeil(panelBytes, l2 / 16));
      residentA = l2 * 3 / 4;
    }
    int64_t byCache = llvm::divideCeil(p.m * rowBytes, std::max<int64_t>(residentA, 1));
    p.blocks = std::max(byCache, chooseBlocks(p.tiles.count, p.groups, threads));
  }
  p.blocks = std::clamp<int64_t>(p.blocks, 1, std::max<int64_t>(p.tiles.count, 1));
}

std::optional<Problem> problemOf(const EmitRequest &request) {
  GroupOp group = request.group;
  const Isa &isa = request.isa;
  MatMulOp op = soleOp<MatMulOp>(group);
  if (!op || !Epilogue::fits(group, op))
    return std::nullopt;
  auto lhs = dyn_cast<BlockArgument>(op.getLhs()), rhs = dyn_cast<BlockArgument>(op.getRhs());
  if (!lhs || !rhs || lhs == rhs || !request.isConstant[rhs.getArgNumber()])
    return std::nullopt;
  auto a = cast<RankedTensorType>(lhs.getType()), b = cast<RankedTensorType>(rhs.getType());
  bool usedOnce = rhs.hasOneUse(); // a packed operand cannot be read as a matrix elsewhere
  if (b.getRank() != 2 || !isFloat(a.getElementType()) || !usedOnce)
    return std::nullopt;
  if (op.getTransposeLhs() && rowCount(a.getShape()) != a.getDimSize(a.getRank() - 2))
    return std::nullopt; // [..., K, M]: leading dims do not join M
  Problem p{};
  p.op = op, p.lhs = lhs.getArgNumber(), p.rhs = rhs.getArgNumber();
  p.transposed = op.getTransposeLhs();
  p.n = b.getDimSize(op.getTransposeRhs() ? 0 : 1);
  p.k = b.getDimSize(op.getTransposeRhs() ? 1 : 0);
  p.m = p.transposed ? a.getShape().back() : rowCount(a.getShape());
  if (p.n == 0)
    return std::nullopt;
  p.widen = !a.getElementType().isF32() && !p.transposed;
  p.vectors = tileVectors(isa, p.n);
  p.panel = p.vectors * isa.lanesF32();
  p.panels = llvm::divideCeil(p.n, p.panel);
  p.tiles = RowTiles::cut(p.m, tileRows(isa, p.vectors));
  p.perTile = panelsPerTile(p, isa, request.threads);
  chooseOrder(p, isa, request.threads);
  p.epilogueBytes = Epilogue::scratchBytes(group, p.tiles.rows, p.vectors * p.perTile, isa.lanesF32());
  // Converting in the loop costs 4 operations beside 28 FMAs, once a tile; through scratch about 6, once a task.
  p.unpack = !b.getElementType().isF32() && p.tiles.count / p.blocks >= 3;
  p.unpackedBytes = p.unpack ? p.perTask * p.chunk * p.panel * 4 : 0;
  int64_t mostRows = llvm::divideCeil(p.tiles.count, p.blocks) * p.tiles.rows;
  p.sumBytes = p.chunk < p.k ? mostRows * p.panel * p.perTask * 4 : 0;
  p.widenedBytes = p.widen ? llvm::alignTo(p.tiles.rows * p.k * 4, 64) : 0;
  return p;
}

std::optional<KernelPlan> match(const EmitRequest &request) {
  std::optional<Problem> p = problemOf(request);
  if (!p)
    return std::nullopt;
  GroupOp group = request.group;
  KernelPlan plan;
  plan.inputLayouts.resize(group.getInputs().size());
  plan.inputLayouts[p->rhs] = PanelLayout{static_cast<unsigned>(p->panel), p->op.getTransposeRhs(), p->k, p->n};
  plan.grid = p->m ? p->blocks * p->groups : 0;
  // Neighbouring panels to one worker, because each prefetches the next; but four claims per worker for balance.
  plan.chunk = std::max<uint64_t>(plan.grid / (4 * std::max(request.threads, 1u)), 1);
  plan.scratchBytes = p->epilogueBytes + p->widenedBytes + p->sumBytes + p->unpackedBytes;
  plan.inPlace = {Epilogue::inPlaceOperands(group, p->op)};
  return plan;
}

class MatMulEmitter {
public:
  MatMulEmitter(const EmitRequest &request, KernelBuilder &k)
      : k(k), p(*problemOf(request)), t(k.builder, request.isa),
        epilogue(request.group, p.op, k, t, /*scratchAt=*/0, p.tiles.rows, p.vectors * p.perTile),
        a(t.flat(k.inputs[p.lhs])), weights(t.flat(k.inputs[p.rhs])) {
    if (p.widen)
      widened = t.scratch(k.scratch, p.epilogueBytes, p.tiles.rows * p.k);
    if (p.sumBytes)
      sums = t.scratch(k.scratch, p.epilogueBytes + p.widenedBytes, p.sumBytes / 4);
    if (p.unpack)
      unpacked = t.scratch(k.scratch, p.epilogueBytes + p.widenedBytes + p.sumBytes, p.unpackedBytes / 4);
  }

  void run() {
    if (p.m == 0)
      return;
    forLoop(t.b, t.loc, k.lo, k.hi, 1, [&](Value task) {
      // Consecutive tasks share what stays in L2.
      Value block = p.rowsOuter ? t.rem(task, p.blocks) : t.div(task, p.groups);
      Value group = p.rowsOuter ? t.div(task, p.blocks) : t.rem(task, p.groups);
      // Tiles [block * count / blocks, (block + 1) * count / blocks): at most one tile more in one block than in
      // another.
      begin = t.div(t.mul(block, p.tiles.count), p.blocks);
      end = t.div(t.mul(t.add(block, 1), p.tiles.count), p.blocks);
      if (p.rowsOuter)
        return tilesTimesPanels(t.mul(group, p.perTask));
      if (p.sumBytes)
        return tilesTimesChunks(group);
      Value next = t.min(t.add(task, 1), t.sub(k.hi, t.index(1)));
      nextPanel = t.mul(t.rem(next, p.groups), p.perTask * p.k * p.panel);
      int64_t rest = p.panels - (p.groups - 1) * p.perTask; // panels of the last group
      if (rest == p.perTask)
        return tilesTimesGroup(group, p.perTask);
      Value isLast = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, group, t.index(p.groups - 1));
      auto branch = scf::IfOp::create(t.b, t.loc, isLast, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(t.b);
      t.b.setInsertionPointToStart(branch.thenBlock());
      tilesTimesGroup(group, rest);
      t.b.setInsertionPointToStart(branch.elseBlock());
      tilesTimesGroup(group, p.perTask);
    });
  }

private:
  void tilesTimesPanels(Value firstPanel) {
    Value lastPanel = t.min(t.add(firstPanel, p.perTask), t.index(p.panels));
    Value groupBase =
        unpackWeights(t.mul(firstPanel, p.k * p.panel), t.mul(t.sub(lastPanel, firstPanel), p.k * p.panel));
    forRowTiles(t, p.tiles, begin, end, [&](Value, Value row, int64_t rows) {
      if (p.widen)
        widenRows(t.mul(row, p.k), rows);
      forLoop(t.b, t.loc, firstPanel, lastPanel, 1, [&](Value panel) {
        // The next tile's rows follow this one's: each panel fetches its share of them into L2.
        int64_t step = llvm::divideCeil(rows, p.perTask);
        Value from = t.add(t.mul(t.add(row, rows), p.k), t.mul(t.sub(panel, firstPanel), step * p.k));
        auto prefetch = [&](Value kk) { fetchToL2(a, t.add(from, t.mul(kk, step)), step); };
        Value column = t.mul(panel, p.panel), base = t.add(groupBase, t.mul(t.sub(panel, firstPanel), p.k * p.panel));
        SmallVector<Value> tile = multiply(row, rows, base, 1, prefetch);
        epilogue.write(tile, row, rows, column, masksAt(column, 1));
      });
    });
  }

  void tilesTimesGroup(Value group, int64_t count) {
    Value column = t.mul(group, p.perTask * p.panel);
    Value base = unpackWeights(t.mul(group, p.perTask * p.k * p.panel), t.index(count * p.k * p.panel));
    SmallVector<Value> masks = masksAt(column, count);
    int64_t tilesPerBlock = std::max<int64_t>(p.tiles.count / p.blocks, 1);
    int64_t step = llvm::divideCeil(p.panel * p.perTask, tilesPerBlock);
    forRowTiles(t, p.tiles, begin, end, [&](Value tile, Value row, int64_t rows) {
      if (p.widen)
        widenRows(t.mul(row, p.k), rows);
      Value from = t.add(nextPanel, t.mul(t.sub(tile, begin), p.k * step));
      auto prefetch = [&](Value kk) {
        if (tilesPerBlock > 1) // a single tile reads its panel at the pace of the memory anyway
          fetchToL2(weights, t.add(from, t.mul(kk, step)), step);
      };
      epilogue.write(multiply(row, rows, base, count, prefetch), row, rows, column, masks);
    });
  }

  /// One panel (perTask is 1 with long K) in chunks of K.
  void tilesTimesChunks(Value panel) {
    Value firstRow = rowOf(begin), lastRow = rowOf(end), column = t.mul(panel, p.panel);
    forLoop(t.b, t.loc, t.index(0), t.mul(t.sub(lastRow, firstRow), p.panel), t.lanes,
            [&](Value i) { t.storeVector(sums, i, t.zeroVector()); });
    int64_t step = llvm::divideCeil(p.panel, std::max<int64_t>(p.tiles.count / p.blocks, 1));
    forLoop(t.b, t.loc, t.index(0), t.index(p.k), p.chunk, [&](Value k0) {
      Value chunkAt = t.add(t.mul(panel, p.k * p.panel), t.mul(k0, p.panel));
      Value depth = t.min(t.index(p.chunk), t.sub(t.index(p.k), k0));
      Value base = unpackWeights(chunkAt, t.mul(depth, p.panel));
      forRowTiles(t, p.tiles, begin, end, [&](Value tile, Value row, int64_t rows) {
        // The next chunk lies behind this one, in the next panel too.
        Value from = t.add(t.add(chunkAt, p.chunk * p.panel), t.mul(t.sub(tile, begin), p.chunk * step));
        auto prefetch = [&](Value kk) { fetchToL2(weights, t.add(from, t.mul(kk, step)), step); };
        Value at = t.mul(t.sub(row, firstRow), p.panel);
        SmallVector<Value> acc;
        for (int64_t i = 0; i < rows * p.vectors; ++i)
          acc.push_back(t.loadVector(sums, t.add(at, i * t.lanes)));
        if (p.widen)
          widenRows(t.mul(row, p.k), rows);
        acc = multiply(row, rows, base, 1, prefetch, k0, depth, acc);
        for (int64_t i = 0; i < rows * p.vectors; ++i)
          t.storeVector(sums, t.add(at, i * t.lanes), acc[i]);
      });
    });
    epilogue.writeRows(sums, t.index(0), p.panel, firstRow, lastRow, column, masksAt(column, 1));
  }

  /// Converts `count` (a multiple of lanes) weights from element `at`; returns where multiply() finds them.
  Value unpackWeights(Value at, Value count) {
    if (!p.unpack)
      return at;
    forLoop(t.b, t.loc, t.index(0), count, t.lanes,
            [&](Value i) { t.storeVector(unpacked, i, t.loadVector(weights, t.add(at, i))); });
    return t.index(0);
  }

  /// First row of a tile, see RowTiles.
  Value rowOf(Value tile) { return t.add(t.mul(tile, p.tiles.rows - 1), t.min(tile, t.index(p.tiles.larger))); }

  /// Per vector of `count` panels; no masks unless N has a tail: then a run-time mask for all panels instead of a
  /// second copy of the code for the last one.
  SmallVector<Value> masksAt(Value column, int64_t count) {
    SmallVector<Value> masks(count * p.vectors);
    if (p.n % p.panel)
      for (int64_t v = 0; v < count * p.vectors; ++v)
        masks[v] = t.maskOf(t.max(t.sub(t.index(p.n - v * t.lanes), column), t.index(0)));
    return masks;
  }

  /// Lines of elements [at, at + count).
  void fetchToL2(Value memref, Value at, int64_t count) {
    int64_t line = 64 * 8 / cast<MemRefType>(memref.getType()).getElementTypeBitWidth();
    for (int64_t i = 0; i < count; i += line)
      memref::PrefetchOp::create(t.b, t.loc, memref, ValueRange{t.add(at, i)}, /*isWrite=*/false, /*localityHint=*/2,
                                 /*isDataCache=*/true);
  }

  /// Rows [row, row + rows) of A, from column `k0`, times `count` panels from element `base` of the (unpacked) weights.
  SmallVector<Value> multiply(Value row, int64_t rows, Value base, int64_t count,
                              llvm::function_ref<void(Value)> prefetch, Value k0 = {}, Value depth = {},
                              ArrayRef<Value> init = {}) {
    Value source = p.widen ? widened : a;
    Value rowBase = p.widen ? t.index(0) : p.transposed ? row : t.mul(row, p.k);
    if (k0)
      rowBase = t.add(rowBase, p.transposed ? t.mul(k0, p.m) : k0);
    auto loadA = [&](Value kk, int64_t r) {
      Value at = p.transposed ? t.add(rowBase, t.mul(kk, p.m)) : t.add(rowBase, kk);
      return t.loadScalar(source, t.add(at, p.transposed ? r : r * p.k));
    };
    auto loadB = [&](Value kk, int64_t v) {
      Value at = t.add(base, t.mul(kk, p.panel));
      return t.loadVector(p.unpack ? unpacked : weights,
                          t.add(at, v / p.vectors * p.k * p.panel + v % p.vectors * t.lanes));
    };
    return multiplyTile(t, rows, p.vectors * count, depth ? depth : t.index(p.k), {loadA, loadB, prefetch}, init);
  }

  void widenRows(Value from, int64_t rows) {
    forRow(t.b, t.loc, rows * p.k, t.lanes, [&](Index j, int64_t w) {
      Value at = t.add(from, j.base);
      if (w > 1)
        t.storeVector(widened, j.base, t.loadVector(a, at));
      else
        t.storeScalar(widened, j.base, t.loadScalar(a, at));
    });
  }

  KernelBuilder &k;
  Problem p;
  TileBuilder t;
  Epilogue epilogue;
  Value a, weights, widened, sums, unpacked;
  Value begin, end, nextPanel; ///< of the task: row tiles, element of the weights
};

void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) { MatMulEmitter(request, k).run(); }

} // namespace

Emitter cpu::matmulEmitter() { return {"matmul", match, emit}; }
