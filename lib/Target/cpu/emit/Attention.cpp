//===- Attention.cpp - fused attention ------------------------------------===//
//
// One task is (batch, head, block of queries): K^T of the head is packed into panels, the block's scores are one pass of
// register tiles into scratch, softmax runs over the rows there, and P V reads V in place. Scores never leave the
// worker's scratch. Scratch grows linearly with the number of keys (K^T and one block of scores).
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/Emit.h"
#include "lib/Target/cpu/emit/Epilogue.h"
#include "lib/Target/cpu/emit/Loops.h"
#include "lib/Target/cpu/emit/Tiles.h"
#include "lib/Target/cpu/emit/VectorMath.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

namespace {

struct Problem {
  AttentionOp op;
  int64_t batch, heads, kvHeads, queries, keys, depth, valueDepth;
  int64_t blockQueries, blocks;
  int64_t panel, panels; ///< of K^T
};

struct Strides {
  int64_t batch, head, row;
};

/// Element strides of a 4-D operand in the op's layout.
Strides stridesOf(ArrayRef<int64_t> d, bool headsFirst) {
  return headsFirst ? Strides{d[1] * d[2] * d[3], d[2] * d[3], d[3]} : Strides{d[1] * d[2] * d[3], d[3], d[2] * d[3]};
}

ArrayRef<int64_t> dimsOf(Value v) { return cast<RankedTensorType>(v.getType()).getShape(); }

std::optional<Problem> problemOf(const EmitRequest &request) {
  GroupOp group = request.group;
  Block &body = group.getBody().front();
  AttentionOp op = soleOp<AttentionOp>(group);
  bool alone = op && llvm::range_size(body.without_terminator()) == 1 &&
               llvm::all_of(op->getOperands(), [](Value v) { return isa<BlockArgument>(v); });
  if (!alone || !cast<RankedTensorType>(op.getQuery().getType()).getElementType().isF32())
    return std::nullopt;
  ArrayRef<int64_t> q = dimsOf(op.getQuery()), k = dimsOf(op.getKey()), v = dimsOf(op.getValue());
  int h = op.getHeadsFirst() ? 1 : 2, s = op.getHeadsFirst() ? 2 : 1;
  Problem p{op, q[0], q[h], k[h], q[s], k[s], q[3], v[3], 0, 0, 0, 0};
  if (!p.batch || !p.heads || !p.queries || !p.keys || !p.valueDepth)
    return std::nullopt;
  p.panel = request.isa.matmulVectors * request.isa.lanesF32();
  p.panels = llvm::divideCeil(p.keys, p.panel);
  // K^T is packed once a task: blocks of queries as large as L2 allows, but enough tasks for the workers.
  int64_t tile = request.isa.matmulRows, unit = 8 * tile;
  constexpr int64_t tasksPerThread = 3;
  int64_t wanted = llvm::divideCeil(tasksPerThread * request.threads, p.batch * p.heads);
  int64_t byCache = std::max<int64_t>(request.isa.l2Bytes / 4 / (4 * p.panels * p.panel) / tile * tile, tile);
  int64_t rows = std::min({std::max(llvm::divideCeil(p.queries, wanted), uint64_t(unit)) + 0, uint64_t(byCache), uint64_t(p.queries)});
  p.blocks = llvm::divideCeil(p.queries, rows);
  p.blockQueries = llvm::alignTo(llvm::divideCeil(p.queries, p.blocks), tile);
  p.blocks = llvm::divideCeil(p.queries, p.blockQueries);
  return p;
}

uint64_t packedBytes(const Problem &p) { return p.panels * p.panel * std::max<int64_t>(p.depth, 1) * 4; }
uint64_t scoreBytes(const Problem &p) { return p.blockQueries * p.panels * p.panel * 4; }

std::optional<KernelPlan> match(const EmitRequest &request) {
  std::optional<Problem> p = problemOf(request);
  if (!p)
    return std::nullopt;
  GroupOp group = request.group;
  KernelPlan plan;
  plan.inputLayouts.resize(group.getInputs().size());
  plan.inPlace.resize(1);
  plan.grid = p->batch * p->heads * p->blocks;
  plan.scratchBytes = packedBytes(*p) + scoreBytes(*p) + llvm::alignTo(p->blockQueries * 4, 64);
  return plan;
}

class AttentionEmitter {
public:
  AttentionEmitter(const EmitRequest &request, KernelBuilder &k)
      : request(request), k(k), p(*problemOf(request)), t{k.builder, k.builder.getUnknownLoc(), request.isa.lanesF32()},
        values(k, request.group), pitch(p.panels * p.panel) {
    auto input = [&](Value v) { return t.flat(k.inputs[cast<BlockArgument>(v).getArgNumber()]); };
    q = input(p.op.getQuery()), key = input(p.op.getKey()), value = input(p.op.getValue());
    out = t.flat(k.outputs[0]);
    packed = t.scratch(k.scratch, 0, packedBytes(p) / 4);
    scores = t.scratch(k.scratch, packedBytes(p), scoreBytes(p) / 4);
    factors = t.scratch(k.scratch, packedBytes(p) + scoreBytes(p), p.blockQueries);
  }

  void run() {
    bool hf = p.op.getHeadsFirst();
    sq = stridesOf(dimsOf(p.op.getQuery()), hf), sk = stridesOf(dimsOf(p.op.getKey()), hf),
    sv = stridesOf(dimsOf(p.op.getValue()), hf), so = stridesOf(dimsOf(p.op.getResult()), hf);
    forLoop(t.b, t.loc, k.lo, k.hi, 1, [&](Value task) {
      Value block = t.rem(task, p.blocks), pair = t.div(task, p.blocks);
      head = t.rem(pair, p.heads), batch = t.div(pair, p.heads);
      packKeys();
      first = t.mul(block, p.blockQueries);
      int64_t last = p.queries - (p.blocks - 1) * p.blockQueries;
      if (p.blocks == 1 || last == p.blockQueries)
        return queryBlock(last);
      Value isLast = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, block, t.index(p.blocks - 1));
      auto branch = scf::IfOp::create(t.b, t.loc, isLast, true);
      OpBuilder::InsertionGuard guard(t.b);
      t.b.setInsertionPointToStart(branch.thenBlock());
      queryBlock(last);
      t.b.setInsertionPointToStart(branch.elseBlock());
      queryBlock(p.blockQueries);
    });
    values.finish();
  }

private:
  Value offset(const Strides &s, Value headIndex, Value row) {
    return t.add(t.add(t.mul(batch, s.batch), t.mul(headIndex, s.head)), t.mul(row, s.row));
  }
  Value kvHead() { return t.div(head, p.heads / p.kvHeads); }
  Value f32(double v) { return arith::ConstantOp::create(t.b, t.loc, t.b.getF32FloatAttr(v)); }

  void packKeys() {
    auto panelOf = [&](Value panel, int64_t count) {
      Value source = offset(sk, kvHead(), t.mul(panel, p.panel));
      packTransposed(t, key, source, sk.row, count, packed, t.mul(panel, p.panel * p.depth), p.panel, p.depth);
    };
    int64_t tail = p.keys % p.panel, full = p.panels - (tail ? 1 : 0);
    if (full)
      forLoop(t.b, t.loc, t.index(0), t.index(full), 1, [&](Value panel) { panelOf(panel, p.panel); });
    if (tail)
      panelOf(t.index(full), tail);
  }

  void queryBlock(int64_t queries) {
    forLoop(t.b, t.loc, t.index(0), t.index(p.panels), 1, [&](Value panel) {
      forTiles(t, t.index(0), queries, request.isa.matmulRows, [&](Value row, int64_t rows) { scoreTile(row, rows, panel); });
    });
    forLoop(t.b, t.loc, t.index(0), t.index(queries), 1, [&](Value row) { softmaxRow(row); });
    int64_t vectors = std::min<int64_t>(llvm::divideCeil(p.valueDepth, t.lanes), 4);
    int64_t rows = std::max<int64_t>(request.isa.matmulRows * request.isa.matmulVectors / vectors, 1);
    for (int64_t d = 0; d < p.valueDepth; d += vectors * t.lanes)
      forTiles(t, t.index(0), queries, rows, [&](Value row, int64_t count) {
        valueTile(row, count, d, std::min(vectors * t.lanes, p.valueDepth - d));
      });
  }

  /// scores[row..][panel] = Q K^T, unscaled.
  void scoreTile(Value row, int64_t rows, Value panel) {
    int64_t vectors = p.panel / t.lanes;
    SmallVector<Value> at;
    for (int64_t r = 0; r < rows; ++r)
      at.push_back(offset(sq, head, t.add(first, t.add(row, r))));
    Value base = t.mul(panel, p.panel * p.depth);
    SmallVector<Value> acc = multiplyTile(
        t, rows, vectors, t.index(p.depth), [&](Value d, int64_t r) { return t.loadScalar(q, t.add(at[r], d)); },
        [&](Value d, int64_t v) {
          return t.loadVector(packed, t.add(t.add(base, t.mul(d, p.panel)), v * t.lanes), t.lanes);
        });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        t.storeVector(scores, t.add(t.add(t.mul(t.add(row, r), pitch), t.mul(panel, p.panel)), v * t.lanes),
                      acc[r * vectors + v], t.lanes);
  }

  Value load(Value memref, Value at, int64_t width) {
    return width > 1 ? t.loadVector(memref, at, t.lanes) : t.loadScalar(memref, at);
  }
  void store(Value memref, Value at, Value x, int64_t width) {
    width > 1 ? t.storeVector(memref, at, x, t.lanes) : t.storeScalar(memref, at, x);
  }
  Value splat(Value scalar, int64_t width) {
    return width > 1 ? Value(vector::BroadcastOp::create(t.b, t.loc, VectorType::get({width}, scalar.getType()), scalar)) : scalar;
  }

  /// Scaled and masked score.
  Value maskedScore(Value score, Value row, Index column, int64_t width) {
    Value x = arith::MulFOp::create(t.b, t.loc, score, splat(f32(p.op.getScale().convertToDouble()), width));
    Value hidden = splat(f32(-std::numeric_limits<double>::infinity()), width);
    Value query = t.add(first, row);
    if (Value mask = p.op.getMask()) {
      auto type = cast<RankedTensorType>(mask.getType());
      Index all[4] = {{batch, false}, {head, false}, {query, false}, column};
      Indices own;
      for (int64_t i = 0, skip = 4 - type.getRank(); i < type.getRank(); ++i)
        own.push_back(type.getDimSize(i) == 1 ? Index{t.index(0), false} : all[skip + i]);
      Value m = values.at(mask, own, width);
      x = type.getElementType().isInteger(1) ? Value(arith::SelectOp::create(t.b, t.loc, m, x, hidden))
                                             : Value(arith::AddFOp::create(t.b, t.loc, x, m));
    }
    if (p.op.getCausal()) {
      int64_t shift = p.op.getBottomRight() ? p.keys - p.queries : 0;
      Value columns = splat(column.base, width);
      if (width > 1) {
        auto type = VectorType::get({width}, t.b.getIndexType());
        columns = arith::AddIOp::create(t.b, t.loc, columns, vector::StepOp::create(t.b, t.loc, type));
      }
      Value visible = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::sle, columns, splat(t.add(query, shift), width));
      x = arith::SelectOp::create(t.b, t.loc, visible, x, hidden);
    }
    return x;
  }

  void softmaxRow(Value row) {
    Value base = t.mul(row, pitch);
    Type type = t.b.getF32Type();
    Value top = reduceRow(t.b, t.loc, p.keys, t.lanes, ReduceKind::max, type, [&](Index j, int64_t w) {
      Value at = t.add(base, j.base);
      Value x = maskedScore(load(scores, at, w), row, j, w);
      store(scores, at, x, w);
      return x;
    });
    if (p.op.getZeroMaskedRows()) { // exp(-inf - 0) = 0 everywhere instead of NaN
      Value none = arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, top, f32(-std::numeric_limits<double>::infinity()));
      top = arith::SelectOp::create(t.b, t.loc, none, f32(0), top);
    }
    Value sum = reduceRow(t.b, t.loc, p.keys, t.lanes, ReduceKind::sum, type, [&](Index j, int64_t w) {
      Value at = t.add(base, j.base);
      Value e = emitUnary(t.b, t.loc, UnaryKind::exp, arith::SubFOp::create(t.b, t.loc, load(scores, at, w), splat(top, w)));
      store(scores, at, e, w);
      return e;
    });
    Value factor = arith::DivFOp::create(t.b, t.loc, f32(1), sum);
    if (p.op.getZeroMaskedRows()) {
      Value none = arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, sum, f32(0));
      factor = arith::SelectOp::create(t.b, t.loc, none, f32(0), factor);
    }
    t.storeScalar(factors, row, factor);
  }

  /// out[row..][d0, d0 + count) = P V / sum.
  void valueTile(Value row, int64_t rows, int64_t d0, int64_t count) {
    int64_t vectors = llvm::divideCeil(count, t.lanes);
    SmallVector<Value> at;
    for (int64_t r = 0; r < rows; ++r)
      at.push_back(t.mul(t.add(row, r), pitch));
    Value base = t.add(offset(sv, kvHead(), t.index(0)), d0);
    SmallVector<Value> acc = multiplyTile(
        t, rows, vectors, t.index(p.keys), [&](Value j, int64_t r) { return t.loadScalar(scores, t.add(at[r], j)); },
        [&](Value j, int64_t v) {
          Value where = t.add(t.add(base, t.mul(j, sv.row)), v * t.lanes);
          return t.loadVector(value, where, std::min(t.lanes, count - v * t.lanes));
        });
    for (int64_t r = 0; r < rows; ++r) {
      Value factor = t.splat(t.loadScalar(factors, t.add(row, r)));
      Value target = t.add(offset(so, head, t.add(first, t.add(row, r))), d0);
      for (int64_t v = 0; v < vectors; ++v) {
        Value y = arith::MulFOp::create(t.b, t.loc, acc[r * vectors + v], factor);
        t.storeVector(out, t.add(target, v * t.lanes), y, std::min(t.lanes, count - v * t.lanes));
      }
    }
  }

  const EmitRequest &request;
  KernelBuilder &k;
  Problem p;
  TileBuilder t;
  ElementEmitter values;
  int64_t pitch;
  Value q, key, value, out, packed, scores, factors, head, batch, first;
  Strides sq, sk, sv, so;
};

void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) { AttentionEmitter(request, k).run(); }

} // namespace

Emitter cpu::attentionEmitter() { return {"attention", match, emit}; }
