//===- BatchMatMul.cpp - products of two run-time operands ----------------===//
//
// One task is (batch, block of rows). B is read in place when its rows are contiguous along N, else a panel of B^T is
// packed into scratch first.
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
  ArrayRef<int64_t> batchDims;   ///< of the result
  int64_t blockRows, blocks;
};

std::optional<Problem> problemOf(const EmitRequest &request) {
  GroupOp group = request.group;
  MatMulOp op = soleOp<MatMulOp>(group);
  if (!op || op.getTransposeLhs())
    return std::nullopt;
  auto lhs = dyn_cast<BlockArgument>(op.getLhs()), rhs = dyn_cast<BlockArgument>(op.getRhs());
  if (!lhs || !rhs || !hasEpilogueShape(group, op))
    return std::nullopt;
  auto a = cast<RankedTensorType>(lhs.getType()), b = cast<RankedTensorType>(rhs.getType());
  if (!a.getElementType().isF32() || !b.getElementType().isF32())
    return std::nullopt;
  ArrayRef<int64_t> result = cast<RankedTensorType>(op.getType()).getShape();
  Problem p{op, lhs.getArgNumber(), rhs.getArgNumber(), result[result.size() - 2], result.back(), a.getShape().back(), 1,
            result.drop_back(2), 0, 0};
  for (int64_t d : p.batchDims)
    p.batches *= d;
  if (p.m == 0 || p.n == 0 || p.batches == 0)
    return std::nullopt;
  int64_t tile = request.isa.matmulRows;
  constexpr int64_t tasksPerThread = 2;
  int64_t blocks = std::clamp<int64_t>(llvm::divideCeil(tasksPerThread * request.threads, p.batches), 1,
                                       std::max<int64_t>(p.m / tile, 1));
  p.blockRows = llvm::alignTo(llvm::divideCeil(p.m, blocks), tile);
  p.blocks = llvm::divideCeil(p.m, p.blockRows);
  return p;
}

int64_t panelWidth(const EmitRequest &r) { return r.isa.matmulVectors * r.isa.lanesF32(); }
uint64_t tileBytes(const EmitRequest &r) { return r.isa.matmulRows * panelWidth(r) * 4; }

std::optional<KernelPlan> match(const EmitRequest &request) {
  std::optional<Problem> p = problemOf(request);
  if (!p)
    return std::nullopt;
  GroupOp group = request.group;
  KernelPlan plan;
  plan.inputLayouts.resize(group.getInputs().size());
  plan.grid = p->batches * p->blocks;
  plan.scratchBytes = tileBytes(request) + (p->op.getTransposeRhs() ? llvm::alignTo(panelWidth(request) * p->k * 4, 64) : 0);
  permitInPlace(group, plan);
  for (auto &operands : plan.inPlace)
    llvm::erase_if(operands, [&](unsigned o) { return o == p->lhs || o == p->rhs; });
  return plan;
}

class BatchEmitter {
public:
  BatchEmitter(const EmitRequest &request, KernelBuilder &k)
      : request(request), k(k), p(*problemOf(request)), t{k.builder, k.builder.getUnknownLoc(), request.isa.lanesF32()},
        epilogue(request.group, p.op, k, t), a(t.flat(k.inputs[p.lhs])), b(t.flat(k.inputs[p.rhs])),
        width(panelWidth(request)) {
    tile = t.scratch(k.scratch, 0, tileBytes(request) / 4);
    if (p.op.getTransposeRhs())
      packed = t.scratch(k.scratch, tileBytes(request), width * p.k);
  }

  void run() {
    forLoop(t.b, t.loc, k.lo, k.hi, 1, [&](Value task) {
      batch = t.div(task, p.blocks);
      Value block = t.rem(task, p.blocks);
      aBase = t.mul(operandBatch(p.op.getLhs()), p.m * p.k);
      bBase = t.mul(operandBatch(p.op.getRhs()), p.n * p.k);
      int64_t full = p.n / width * width;
      if (full)
        forLoop(t.b, t.loc, t.index(0), t.index(full), width, [&](Value column) { columns(column, width, block); });
      if (full < p.n)
        columns(t.index(full), p.n - full, block);
    });
    epilogue.finish();
  }

private:
  /// Number of the operand's matrix that belongs to the result's batch.
  Value operandBatch(Value operand) {
    ArrayRef<int64_t> own = cast<RankedTensorType>(operand.getType()).getShape().drop_back(2);
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

  void columns(Value column, int64_t count, Value block) {
    if (packed)
      packTransposed(t, b, t.add(bBase, t.mul(column, p.k)), p.k, count, packed, t.index(0), width, p.k);
    Value first = t.mul(block, p.blockRows);
    Value end = t.min(t.add(first, p.blockRows), t.index(p.m));
    int64_t rows = request.isa.matmulRows, fullRows = p.m / rows * rows;
    // Full tiles of this block, then (in the last block) the rest.
    forLoop(t.b, t.loc, first, t.min(end, t.index(fullRows)), rows, [&](Value row) { oneTile(row, rows, column, count); });
    if (fullRows == p.m)
      return;
    Value last = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, end, t.index(p.m));
    auto branch = scf::IfOp::create(t.b, t.loc, last, false);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(branch.thenBlock());
    oneTile(t.index(fullRows), p.m - fullRows, column, count);
  }

  void oneTile(Value row, int64_t rows, Value column, int64_t count) {
    int64_t vectors = llvm::divideCeil(count, t.lanes);
    SmallVector<Value> rowAt;
    for (int64_t r = 0; r < rows; ++r)
      rowAt.push_back(t.add(aBase, t.mul(t.add(row, r), p.k)));
    SmallVector<Value> acc = multiplyTile(
        t, rows, vectors, t.index(p.k), [&](Value kk, int64_t r) { return t.loadScalar(a, t.add(rowAt[r], kk)); },
        [&](Value kk, int64_t v) {
          if (packed)
            return t.loadVector(packed, t.add(t.mul(kk, width), v * t.lanes), t.lanes);
          Value at = t.add(t.add(bBase, t.mul(kk, p.n)), t.add(column, v * t.lanes));
          return t.loadVector(b, at, std::min(t.lanes, count - v * t.lanes));
        });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        t.storeVector(tile, t.index(r * width + v * t.lanes), acc[r * vectors + v], t.lanes);
    epilogue.write(tile, width, t.add(t.mul(batch, p.m), row), rows, column, count);
  }

  const EmitRequest &request;
  KernelBuilder &k;
  Problem p;
  TileBuilder t;
  Epilogue epilogue;
  Value a, b, tile, packed, batch, aBase, bBase;
  int64_t width;
};

void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) { BatchEmitter(request, k).run(); }

} // namespace

Emitter cpu::batchMatmulEmitter() { return {"batch_matmul", match, emit}; }
