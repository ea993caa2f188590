//===- MatMul.cpp - products with constant, packed weights ----------------===//
//
// Weights lie in panels [N/NR][K][NR]; one task is (block of rows, panel). The tile's sums go through a 1.5 KiB scratch
// tile, from which the epilogue (bias, activation, residual: any pointwise ops) is computed row by row: that costs
// under 1 % against keeping it in registers (knowledge/cpu.md 2) and keeps the code small.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/Emit.h"
#include "lib/Target/cpu/emit/Epilogue.h"
#include "lib/Target/cpu/emit/Loops.h"
#include "lib/Target/cpu/emit/Tiles.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

namespace {

struct Problem {
  MatMulOp op;
  unsigned lhs, rhs;       ///< operand numbers
  int64_t m, n, k;
  int64_t panel, panels;   ///< NR and their number
  int64_t blockRows, blocks;
};

/// Blocks of rows whose slice of A stays in half of L2 while all panels pass by.
void chooseBlocks(Problem &p, const Isa &isa, unsigned threads) {
  int64_t tile = isa.matmulRows;
  int64_t byCache = std::max<int64_t>(isa.l2Bytes / 2 / (4 * std::max<int64_t>(p.k, 1)) / tile * tile, tile);
  int64_t blocks = llvm::divideCeil(p.m, byCache);
  // Too few tasks for the workers: cut rows, but not below one tile.
  constexpr int64_t tasksPerThread = 4;
  while (blocks * p.panels < tasksPerThread * threads && p.m / (blocks + 1) >= tile)
    ++blocks;
  p.blockRows = std::max<int64_t>(llvm::alignTo(llvm::divideCeil(std::max<int64_t>(p.m, 1), blocks), tile), 1);
  p.blocks = llvm::divideCeil(p.m, p.blockRows);
}

bool isFloat32Like(Type t) { return t.isF32() || t.isF16() || t.isBF16(); }

std::optional<Problem> problemOf(const EmitRequest &request) {
  GroupOp group = request.group;
  MatMulOp op = soleOp<MatMulOp>(group);
  if (!op || op.getTransposeLhs())
    return std::nullopt;
  auto lhs = dyn_cast<BlockArgument>(op.getLhs()), rhs = dyn_cast<BlockArgument>(op.getRhs());
  if (!lhs || !rhs || !request.isConstant[rhs.getArgNumber()])
    return std::nullopt;
  auto a = cast<RankedTensorType>(lhs.getType()), b = cast<RankedTensorType>(rhs.getType());
  bool usedOnce = rhs.hasOneUse(); // a packed operand cannot be read as a matrix elsewhere
  if (b.getRank() != 2 || !isFloat32Like(a.getElementType()) || !usedOnce || !hasEpilogueShape(group, op))
    return std::nullopt;
  Problem p{op, lhs.getArgNumber(), rhs.getArgNumber(), 0, 0, 0, 0, 0, 0, 0};
  p.k = a.getShape().back();
  p.m = rowCount(a.getShape());
  p.n = b.getDimSize(op.getTransposeRhs() ? 0 : 1);
  p.panel = request.isa.matmulVectors * request.isa.lanesF32();
  p.panels = llvm::divideCeil(p.n, p.panel);
  if (p.m == 0 || p.n == 0)
    return std::nullopt; // nothing to compute: the pointwise emitter's empty loops do
  chooseBlocks(p, request.isa, request.threads);
  return p;
}

uint64_t tileBytes(const EmitRequest &r, const Problem &p) { return r.isa.matmulRows * p.panel * 4; }
/// Rows of A widened to f32, for 16-bit activations.
uint64_t widenedBytes(const EmitRequest &r, Problem &p) {
  bool narrow = !cast<RankedTensorType>(p.op.getLhs().getType()).getElementType().isF32();
  return narrow ? llvm::alignTo(r.isa.matmulRows * p.k * 4, 64) : 0;
}

std::optional<KernelPlan> match(const EmitRequest &request) {
  std::optional<Problem> p = problemOf(request);
  if (!p)
    return std::nullopt;
  GroupOp group = request.group;
  KernelPlan plan;
  plan.inputLayouts.resize(group.getInputs().size());
  plan.inputLayouts[p->rhs] = PanelLayout{static_cast<unsigned>(p->panel), p->op.getTransposeRhs(), p->k, p->n};
  plan.grid = p->blocks * p->panels;
  plan.chunk = 1;
  plan.scratchBytes = tileBytes(request, *p) + widenedBytes(request, *p);
  permitInPlace(group, plan);
  for (auto &operands : plan.inPlace) // rows of A are read again for every panel
    llvm::erase(operands, p->lhs);
  return plan;
}

class MatMulEmitter {
public:
  MatMulEmitter(const EmitRequest &request, KernelBuilder &k)
      : request(request), k(k), p(*problemOf(request)), t{k.builder, k.builder.getUnknownLoc(), request.isa.lanesF32()},
        epilogue(request.group, p.op, k, t) {
    a = t.flat(k.inputs[p.lhs]);
    weights = t.flat(k.inputs[p.rhs]);
    tile = t.scratch(k.scratch, 0, tileBytes(request, p) / 4);
    if (uint64_t bytes = widenedBytes(request, p))
      widened = t.scratch(k.scratch, tileBytes(request, p), bytes / 4);
  }

  void run() {
    forLoop(t.b, t.loc, k.lo, k.hi, 1, [&](Value task) {
      Value block = t.div(task, p.panels), panel = t.rem(task, p.panels);
      Value first = t.mul(block, p.blockRows);
      int64_t lastRows = p.m - (p.blocks - 1) * p.blockRows;
      if (p.blocks == 1 || lastRows == p.blockRows)
        return rowsOf(first, lastRows, panel);
      choose(block, p.blocks - 1, [&] { rowsOf(first, lastRows, panel); }, [&] { rowsOf(first, p.blockRows, panel); });
    });
    epilogue.finish();
  }

private:
  /// if (x == value) then else, with code for each.
  void choose(Value x, int64_t value, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
    Value equal = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, x, t.index(value));
    auto branch = scf::IfOp::create(t.b, t.loc, equal, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(branch.thenBlock());
    then();
    t.b.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }

  void rowsOf(Value first, int64_t rows, Value panel) {
    forTiles(t, first, rows, request.isa.matmulRows, [&](Value row, int64_t count) { oneTile(row, count, panel); });
  }

  void oneTile(Value row, int64_t rows, Value panel) {
    int64_t vectors = p.panel / t.lanes;
    Value base = t.mul(panel, p.k * p.panel);
    Value source = a, rowBase = t.mul(row, p.k);
    if (widened) {
      widenRows(rowBase, rows);
      source = widened;
      rowBase = t.index(0);
    }
    SmallVector<Value> rowAt;
    for (int64_t r = 0; r < rows; ++r)
      rowAt.push_back(t.add(rowBase, r * p.k));
    SmallVector<Value> acc = multiplyTile(
        t, rows, vectors, t.index(p.k), [&](Value kk, int64_t r) { return t.loadScalar(source, t.add(rowAt[r], kk)); },
        [&](Value kk, int64_t v) {
          return t.loadVector(weights, t.add(t.add(base, t.mul(kk, p.panel)), v * t.lanes), t.lanes);
        });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        t.storeVector(tile, t.index(r * p.panel + v * t.lanes), acc[r * vectors + v], t.lanes);
    Value column = t.mul(panel, p.panel);
    int64_t tail = p.n - (p.panels - 1) * p.panel;
    if (tail == p.panel)
      return epilogue.write(tile, p.panel, row, rows, column, tail);
    if (p.panels == 1)
      return epilogue.write(tile, p.panel, row, rows, column, tail);
    choose(panel, p.panels - 1, [&] { epilogue.write(tile, p.panel, row, rows, column, tail); },
           [&] { epilogue.write(tile, p.panel, row, rows, column, p.panel); });
  }

  void widenRows(Value from, int64_t rows) {
    forRow(t.b, t.loc, rows * p.k, t.lanes, [&](Index j, int64_t w) {
      Value at = t.add(from, j.base);
      if (w > 1)
        t.storeVector(widened, j.base, t.loadVector(a, at, t.lanes), t.lanes);
      else
        t.storeScalar(widened, j.base, t.loadScalar(a, at));
    });
  }

  const EmitRequest &request;
  KernelBuilder &k;
  Problem p;
  TileBuilder t;
  Epilogue epilogue;
  Value a, weights, tile, widened;
};

void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) { MatMulEmitter(request, k).run(); }

} // namespace

Emitter cpu::matmulEmitter() { return {"matmul", match, emit}; }
