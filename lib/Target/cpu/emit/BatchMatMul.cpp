//===- BatchMatMul.cpp - products of two run-time operands ----------------===//
//
// One task is (batch, panel of columns, block of row tiles). The panel of B is packed into scratch first (through
// registers when B is transposed); B that is fp32, not transposed and of whole panels is read where it lies.
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
  unsigned lhs, rhs;
  int64_t m, n, k, batches;
  SmallVector<int64_t> batchDims; ///< of the result
  int64_t vectors, panel, panels;
  RowTiles tiles;
  int64_t blocks;
  bool pack;
  uint64_t epilogueBytes, packedBytes;
};

ArrayRef<int64_t> dimsOf(Value v) { return cast<RankedTensorType>(v.getType()).getShape(); }
bool isFloat(Type t) { return t.isF32() || t.isF16() || t.isBF16(); }

std::optional<Problem> problemOf(const EmitRequest &request) {
  GroupOp group = request.group;
  const Isa &isa = request.isa;
  MatMulOp op = soleOp<MatMulOp>(group);
  if (!op || !Epilogue::fits(group, op))
    return std::nullopt;
  auto lhs = dyn_cast<BlockArgument>(op.getLhs()), rhs = dyn_cast<BlockArgument>(op.getRhs());
  if (!lhs || !rhs)
    return std::nullopt;
  Type element = cast<RankedTensorType>(rhs.getType()).getElementType();
  if (!isFloat(element))
    return std::nullopt;
  ArrayRef<int64_t> result = dimsOf(op.getResult()), a = dimsOf(lhs);
  Problem p{};
  p.op = op, p.lhs = lhs.getArgNumber(), p.rhs = rhs.getArgNumber();
  p.m = result[result.size() - 2], p.n = result.back();
  p.k = a[a.size() - (op.getTransposeLhs() ? 2 : 1)];
  p.batchDims = SmallVector<int64_t>(result.drop_back(2));
  p.batches = 1;
  for (int64_t d : p.batchDims)
    p.batches *= d;
  if (p.n == 0)
    return std::nullopt;
  p.vectors = tileVectors(isa, p.n);
  p.panel = p.vectors * isa.lanesF32();
  p.panels = llvm::divideCeil(p.n, p.panel);
  p.tiles = RowTiles::cut(p.m, tileRows(isa, p.vectors));
  p.blocks = chooseBlocks(p.tiles.count, p.batches * p.panels, request.threads);
  p.pack = op.getTransposeRhs() || !element.isF32() || p.n % p.panel;
  p.epilogueBytes = Epilogue::scratchBytes(group, p.tiles.rows, p.vectors, isa.lanesF32());
  p.packedBytes = p.pack ? p.panel * p.k * 4 : 0;
  return p;
}

std::optional<KernelPlan> match(const EmitRequest &request) {
  std::optional<Problem> p = problemOf(request);
  if (!p)
    return std::nullopt;
  GroupOp group = request.group;
  KernelPlan plan;
  plan.inputLayouts.resize(group.getInputs().size());
  plan.grid = p->m ? p->batches * p->panels * p->blocks : 0;
  // Claiming costs 0.1 us: no claims under about 100k multiply-adds while every worker still gets several.
  int64_t work = std::max<int64_t>(p->m * p->panel * p->k / std::max<int64_t>(p->blocks, 1), 1);
  uint64_t fair = plan.grid / (4 * std::max(request.threads, 1u));
  plan.chunk = std::clamp<uint64_t>(llvm::divideCeil(100000, work), 1, std::max<uint64_t>(fair, 1));
  plan.scratchBytes = p->epilogueBytes + p->packedBytes;
  plan.inPlace = {Epilogue::inPlaceOperands(group, p->op)};
  return plan;
}

class BatchEmitter {
public:
  BatchEmitter(const EmitRequest &request, KernelBuilder &k)
      : k(k), p(*problemOf(request)), t(k.builder, request.isa),
        epilogue(request.group, p.op, k, t, /*scratchAt=*/0, p.tiles.rows, p.vectors), a(t.flat(k.inputs[p.lhs])),
        b(t.flat(k.inputs[p.rhs])) {
    if (p.pack)
      packed = t.scratch(k.scratch, p.epilogueBytes, p.panel * p.k);
  }

  void run() {
    if (p.m == 0 || p.batches == 0)
      return;
    forLoop(t.b, t.loc, k.lo, k.hi, 1, [&](Value task) {
      Value block = t.rem(task, p.blocks), pair = t.div(task, p.blocks);
      batch = t.div(pair, p.panels);
      column = t.mul(t.rem(pair, p.panels), p.panel);
      aBase = t.mul(matrixOf(p.op.getLhs()), p.m * p.k);
      bBase = t.mul(matrixOf(p.op.getRhs()), p.n * p.k);
      SmallVector<Value> masks(p.vectors);
      Value count = t.min(t.sub(t.index(p.n), column), t.index(p.panel));
      if (p.n % p.panel)
        for (int64_t v = 0; v < p.vectors; ++v)
          masks[v] = t.maskOf(t.max(t.sub(count, t.index(v * t.lanes)), t.index(0)));
      if (p.pack)
        packPanel(count);
      Value begin = t.div(t.mul(block, p.tiles.count), p.blocks);
      Value end = t.div(t.mul(t.add(block, 1), p.tiles.count), p.blocks);
      forRowTiles(t, p.tiles, begin, end, [&](Value, Value row, int64_t rows) {
        epilogue.write(multiply(row, rows), t.add(t.mul(batch, p.m), row), rows, column, masks);
      });
    });
  }

private:
  /// Number of the operand's matrix that belongs to the result's batch.
  Value matrixOf(Value operand) {
    ArrayRef<int64_t> own = dimsOf(operand).drop_back(2);
    Value rest = batch, number = t.index(0);
    int64_t stride = 1;
    for (size_t i = p.batchDims.size(); i-- > 0;) {
      Value index = t.rem(rest, p.batchDims[i]);
      rest = t.div(rest, p.batchDims[i]);
      int64_t at = static_cast<int64_t>(i) - static_cast<int64_t>(p.batchDims.size() - own.size());
      if (at < 0)
        continue;
      if (own[at] != 1)
        number = t.add(number, t.mul(index, stride));
      stride *= own[at];
    }
    return number;
  }

  void packPanel(Value count) {
    if (p.op.getTransposeRhs())
      packTransposed(t, b, t.add(bBase, t.mul(column, p.k)), p.k, count, packed, t.index(0), p.panel, p.k);
    else
      packStraight(t, b, t.add(bBase, column), p.n, count, packed, t.index(0), p.panel, t.index(p.k));
  }

  SmallVector<Value> multiply(Value row, int64_t rows) {
    bool transposed = p.op.getTransposeLhs();
    Value rowBase = t.add(aBase, transposed ? row : t.mul(row, p.k));
    auto loadA = [&](Value kk, int64_t r) {
      Value at = t.add(rowBase, transposed ? t.mul(kk, p.m) : kk);
      return t.loadScalar(a, t.add(at, transposed ? r : r * p.k));
    };
    Value bAt = p.pack ? t.index(0) : t.add(bBase, column);
    auto loadB = [&](Value kk, int64_t v) {
      return t.loadVector(p.pack ? packed : b, t.add(t.add(bAt, t.mul(kk, p.pack ? p.panel : p.n)), v * t.lanes));
    };
    return multiplyTile(t, rows, p.vectors, t.index(p.k), {loadA, loadB});
  }

  KernelBuilder &k;
  Problem p;
  TileBuilder t;
  Epilogue epilogue;
  Value a, b, packed, batch, column, aBase, bBase;
};

void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) { BatchEmitter(request, k).run(); }

} // namespace

Emitter cpu::batchMatmulEmitter() { return {"batch_matmul", match, emit}; }
