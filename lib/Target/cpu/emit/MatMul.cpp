//===- MatMul.cpp - products with constant, packed weights ----------------===//
//
// Weights lie in panels [N/NR][K][NR]; one task is (block of row tiles, group of panels). A group is one panel, but more
// when there are few rows: one row has only NR/lanes independent chains of FMAs (8 are needed) and one stream of memory
// (the prefetchers follow several: 1.3x on GEMV, knowledge/cpu.md 3).
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
  unsigned lhs, rhs;         ///< operand numbers
  bool transposed, widen;    ///< lhs is [K][M]; rows of lhs are converted to f32 in scratch first
  int64_t m, n, k;
  int64_t vectors, panel, panels; ///< panel = NR = vectors * lanes
  int64_t perTask, groups;   ///< panels of a task, tasks of a row block
  RowTiles tiles;
  int64_t blocks;
  uint64_t epilogueBytes, widenedBytes;
};

bool isFloat(Type t) { return t.isF32() || t.isF16() || t.isBF16(); }

/// Panels that one task takes at a time: as many as fit in the registers, up to four streams.
int64_t panelsPerTask(const Problem &p, const Isa &isa, unsigned threads) {
  int64_t most = std::min<int64_t>({4, (isa.vectorRegisters - 2) / (p.vectors * (p.tiles.rows + 1)), p.panels});
  // 8 chains hide the latency of two FMA units; then more streams only help while every worker has a task.
  constexpr int64_t chains = 8;
  while (most > 1 && p.tiles.rows * p.vectors * (most - 1) >= chains && llvm::divideCeil(p.panels, most) < threads)
    --most;
  return std::max<int64_t>(most, 1);
}

/// Blocks of rows: so that their slice of A stays in half of L2 while all panels pass by, and enough for the workers.
int64_t rowBlocks(const Problem &p, const Isa &isa, unsigned threads) {
  int64_t rowBytes = std::max<int64_t>(p.k, 1) * 4;
  int64_t byCache = llvm::divideCeil(p.m * rowBytes, std::max<int64_t>(isa.l2Bytes / 2, 1));
  int64_t blocks = std::max(byCache, chooseBlocks(p.tiles.count, p.groups, threads));
  return std::clamp<int64_t>(blocks, 1, std::max<int64_t>(p.tiles.count, 1));
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
  p.perTask = panelsPerTask(p, isa, request.threads);
  p.groups = llvm::divideCeil(p.panels, p.perTask);
  p.blocks = rowBlocks(p, isa, request.threads);
  p.epilogueBytes = Epilogue::scratchBytes(group, p.tiles.rows, p.vectors * p.perTask, isa.lanesF32());
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
  plan.scratchBytes = p->epilogueBytes + p->widenedBytes;
  plan.inPlace = {Epilogue::inPlaceOperands(group, p->op)};
  return plan;
}

class MatMulEmitter {
public:
  MatMulEmitter(const EmitRequest &request, KernelBuilder &k)
      : k(k), p(*problemOf(request)), t(k.builder, request.isa),
        epilogue(request.group, p.op, k, t, /*scratchAt=*/0, p.tiles.rows, p.vectors * p.perTask),
        a(t.flat(k.inputs[p.lhs])), weights(t.flat(k.inputs[p.rhs])) {
    if (p.widen)
      widened = t.scratch(k.scratch, p.epilogueBytes, p.tiles.rows * p.k);
  }

  void run() {
    if (p.m == 0)
      return;
    forLoop(t.b, t.loc, k.lo, k.hi, 1, [&](Value task) {
      Value block = t.div(task, p.groups), group = t.rem(task, p.groups);
      Value next = t.min(t.add(task, 1), t.sub(k.hi, t.index(1)));
      nextPanel = t.mul(t.rem(next, p.groups), p.perTask * p.k * p.panel);
      int64_t rest = p.panels - (p.groups - 1) * p.perTask; // panels of the last group
      if (rest == p.perTask)
        return oneTask(block, group, p.perTask);
      Value isLast = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, group, t.index(p.groups - 1));
      auto branch = scf::IfOp::create(t.b, t.loc, isLast, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(t.b);
      t.b.setInsertionPointToStart(branch.thenBlock());
      oneTask(block, group, rest);
      t.b.setInsertionPointToStart(branch.elseBlock());
      oneTask(block, group, p.perTask);
    });
  }

private:
  void oneTask(Value block, Value group, int64_t count) {
    Value column = t.mul(group, p.perTask * p.panel);
    SmallVector<Value> masks(count * p.vectors);
    if (p.n % p.panel) // a run-time mask for all panels instead of a second copy of the code for the last one
      for (int64_t v = 0; v < count * p.vectors; ++v)
        masks[v] = t.maskOf(t.max(t.sub(t.index(p.n - v * t.lanes), column), t.index(0)));
    // Tiles [block * count / blocks, (block + 1) * count / blocks): at most one tile more in one block than in another.
    Value begin = t.div(t.mul(block, p.tiles.count), p.blocks);
    Value end = t.div(t.mul(t.add(block, 1), p.tiles.count), p.blocks);
    forRowTiles(t, p.tiles, begin, end, [&](Value tile, Value row, int64_t rows) {
      SmallVector<Value> sums = multiply(t.sub(tile, begin), row, rows, group, count);
      epilogue.write(sums, row, rows, column, masks);
    });
  }

  SmallVector<Value> multiply(Value tile, Value row, int64_t rows, Value group, int64_t count) {
    Value base = t.mul(group, p.perTask * p.k * p.panel);
    Value source = a, rowBase = p.transposed ? row : t.mul(row, p.k);
    if (p.widen) {
      widenRows(rowBase, rows);
      source = widened;
      rowBase = t.index(0);
    }
    auto loadA = [&](Value kk, int64_t r) {
      Value at = p.transposed ? t.add(rowBase, t.mul(kk, p.m)) : t.add(rowBase, kk);
      return t.loadScalar(source, t.add(at, p.transposed ? r : r * p.k));
    };
    auto loadB = [&](Value kk, int64_t v) {
      Value at = t.add(base, t.mul(kk, p.panel));
      return t.loadVector(weights, t.add(at, v / p.vectors * p.k * p.panel + v % p.vectors * t.lanes));
    };
    // The next panel comes into L2 meanwhile, spread evenly over the tiles of this one.
    int64_t perBlock = std::max<int64_t>(p.tiles.count / p.blocks, 1);
    int64_t step = llvm::divideCeil(p.panel * p.perTask, perBlock);
    auto prefetch = [&](Value kk) {
      Value at = t.add(t.add(nextPanel, t.mul(tile, p.k * step)), t.mul(kk, step));
      int64_t line = 64 * 8 / cast<MemRefType>(weights.getType()).getElementTypeBitWidth();
      for (int64_t i = 0; i < step; i += line)
        memref::PrefetchOp::create(t.b, t.loc, weights, ValueRange{t.add(at, i)}, /*isWrite=*/false, /*localityHint=*/2,
                                   /*isDataCache=*/true);
    };
    TileOperands operands{loadA, loadB};
    if (perBlock > 1)
      operands.prefetch = prefetch;
    return multiplyTile(t, rows, p.vectors * count, t.index(p.k), operands);
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
  Value a, weights, widened, nextPanel;
};

void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) { MatMulEmitter(request, k).run(); }

} // namespace

Emitter cpu::matmulEmitter() { return {"matmul", match, emit}; }
