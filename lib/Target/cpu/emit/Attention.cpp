//===- Attention.cpp - fused attention ------------------------------------===//
//
// Flash-style (online softmax over blocks of keys). One task is (batch, head, block of queries):
//
//   pack Q * scale -> [MQ][D]
//   for each block of at most NK keys:                 (one block, no rescaling, when all keys fit)
//     pack K^T -> [NK/NR][D][NR], V -> [NK][Dv]         f32, contiguous: strides of H * D collide in L1
//     S = Q K^T + mask                                  register tiles, the mask added before they are stored
//     per row: m' = max(m, S), P = exp(S - m'), l = l exp(m - m') + sum P, O *= exp(m - m')
//     O += P V                                          register tiles
//   out = O / l
//
// Scratch is bounded whatever the number of keys. Sources: knowledge/cpu.md 2, cpu-algorithms.md 4.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/Emit.h"
#include "lib/Target/cpu/emit/Epilogue.h"
#include "lib/Target/cpu/emit/Loops.h"
#include "lib/Target/cpu/emit/Tiles.h"
#include "lib/Target/cpu/emit/VectorMath.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

namespace {

constexpr double kLog2e = 1.4426950408889634;
constexpr float kInf = std::numeric_limits<float>::infinity();

ArrayRef<int64_t> dimsOf(Value v) { return cast<RankedTensorType>(v.getType()).getShape(); }
Type elementOf(Value v) { return cast<RankedTensorType>(v.getType()).getElementType(); }
bool isFloat(Type t) { return t.isF32() || t.isF16() || t.isBF16(); }

struct Strides {
  int64_t batch, head, row;
};

/// Element strides of a 4-D operand in the op's layout.
Strides stridesOf(ArrayRef<int64_t> d, bool headsFirst) {
  return headsFirst ? Strides{d[1] * d[2] * d[3], d[2] * d[3], d[3]} : Strides{d[1] * d[2] * d[3], d[3], d[2] * d[3]};
}

/// Float offsets of the parts of the scratch.
struct ScratchMap {
  int64_t q, k, v, s, o, top, sum, total;
};

struct Problem {
  AttentionOp op;
  int64_t batch, heads, kvHeads, queries, keys, depth, valueDepth;
  int64_t blockQueries, blocks; ///< MQ; the last block overlaps the one before it
  int64_t blockKeys;            ///< NK, a multiple of panel
  bool single;                  ///< all keys in one block
  int64_t panel, depthPitch, valuePitch;
  ScratchMap map;
  bool floatMask, boolMask;
};

ScratchMap mapScratch(const Problem &p) {
  ScratchMap m{};
  int64_t at = 0;
  auto take = [&](int64_t &part, int64_t floats) {
    part = at;
    at += llvm::alignTo(std::max<int64_t>(floats, 1), 16); // 64 bytes
  };
  take(m.q, p.blockQueries * p.depthPitch);
  take(m.k, p.blockKeys * p.depth);
  take(m.v, p.blockKeys * p.valuePitch);
  take(m.s, p.blockQueries * p.blockKeys);
  take(m.o, p.single ? 0 : p.blockQueries * p.valuePitch);
  take(m.top, p.blockQueries);
  take(m.sum, p.blockQueries);
  m.total = at;
  return m;
}

/// Block sizes: 512 keys and 128 queries measured best (cpu-algorithms.md 4: NK 512 beats 256 and 128); smaller when
/// the scratch would not fit in half of L2, and fewer queries when there are workers without a task.
void chooseBlockSizes(Problem &p, const Isa &isa, unsigned threads) {
  // Each block of queries packs all of K and V again: 17 % of the time at 4096 x 4096 with 128 queries.
  constexpr int64_t mostKeys = 512;
  int64_t mostQueries = p.queries >= 1024 ? 256 : 128;
  auto set = [&](int64_t keys, int64_t queries) {
    p.blockKeys = std::min<int64_t>(llvm::alignTo(keys, p.panel), llvm::alignTo(std::max<int64_t>(p.keys, 1), p.panel));
    p.single = p.keys <= p.blockKeys;
    p.blocks = llvm::divideCeil(p.queries, queries);
    p.blockQueries = llvm::divideCeil(p.queries, std::max<int64_t>(p.blocks, 1));
    p.map = mapScratch(p);
  };
  int64_t keys = mostKeys, queries = mostQueries;
  set(keys, queries);
  int64_t limit = std::clamp<int64_t>(isa.l2Bytes / 2, 128 << 10, 1 << 20);
  while (p.map.total * 4 > limit && keys > p.panel) {
    if (queries > keys / 4)
      queries /= 2;
    else
      keys /= 2;
    set(keys, queries);
  }
  // Each task packs K again, so not below four tiles of queries.
  int64_t tasks = p.batch * p.heads, least = 4 * isa.matmulRows;
  while (p.blocks * tasks < 4 * threads && (p.blocks * tasks) % threads != 0 && queries / 2 >= least)
    set(keys, queries /= 2);
}

std::optional<Problem> problemOf(const EmitRequest &request) {
  GroupOp group = request.group;
  Block &body = group.getBody().front();
  AttentionOp op = soleOp<AttentionOp>(group);
  bool alone = op && llvm::range_size(body.without_terminator()) == 1 &&
               llvm::all_of(op->getOperands(), [](Value v) { return isa<BlockArgument>(v); });
  if (!alone || !isFloat(elementOf(op.getQuery())) || !isFloat(elementOf(op.getResult())))
    return std::nullopt;
  ArrayRef<int64_t> q = dimsOf(op.getQuery()), k = dimsOf(op.getKey()), v = dimsOf(op.getValue());
  int h = op.getHeadsFirst() ? 1 : 2, s = op.getHeadsFirst() ? 2 : 1;
  Problem p{};
  p.op = op;
  p.batch = q[0], p.heads = q[h], p.kvHeads = k[h], p.queries = q[s], p.keys = k[s], p.depth = q[3],
  p.valueDepth = v[3];
  if (Value mask = op.getMask()) {
    p.boolMask = elementOf(mask).isInteger(1);
    p.floatMask = isFloat(elementOf(mask));
    if ((!p.boolMask && !p.floatMask) || dimsOf(mask).size() > 4)
      return std::nullopt;
  }
  int64_t lanes = request.isa.lanesF32();
  p.panel = request.isa.matmulVectors * lanes;
  p.depthPitch = llvm::alignTo(std::max<int64_t>(p.depth, 1), lanes);
  p.valuePitch = llvm::alignTo(std::max<int64_t>(p.valueDepth, 1), lanes);
  chooseBlockSizes(p, request.isa, request.threads);
  return p;
}

std::optional<KernelPlan> match(const EmitRequest &request) {
  std::optional<Problem> p = problemOf(request);
  if (!p)
    return std::nullopt;
  GroupOp group = request.group;
  KernelPlan plan;
  plan.inputLayouts.resize(group.getInputs().size());
  plan.inPlace.resize(1); // queries are read by several tasks: never in place
  bool empty = p->batch == 0 || p->heads == 0 || p->queries == 0 || p->valueDepth == 0;
  plan.grid = empty ? 0 : p->batch * p->heads * p->blocks;
  plan.scratchBytes = p->map.total * 4;
  return plan;
}

class AttentionEmitter {
public:
  AttentionEmitter(const EmitRequest &request, KernelBuilder &k)
      : isa(request.isa), k(k), p(*problemOf(request)), t(k.builder, request.isa) {}

  void run() {
    if (p.batch == 0 || p.heads == 0 || p.queries == 0 || p.valueDepth == 0)
      return;
    bindBuffers();
    forLoop(t.b, t.loc, k.lo, k.hi, 1, [&](Value task) {
      Value block = t.rem(task, p.blocks), pair = t.div(task, p.blocks);
      head = t.rem(pair, p.heads), batch = t.div(pair, p.heads);
      kvHead = t.div(head, p.heads / p.kvHeads);
      nextTask = t.min(t.add(task, 1), t.sub(k.hi, t.index(1)));
      // The last block starts early enough to be whole: fewer than `blocks` rows are computed twice, to equal values.
      first = p.blocks == 1 ? t.index(0) : t.min(t.mul(block, p.blockQueries), t.index(p.queries - p.blockQueries));
      packQueries();
      keysEnd = t.index(p.keys);
      if (p.op.getCausal()) // keys that no query of the block sees
        keysEnd = t.max(t.min(keysEnd, t.add(first, p.blockQueries + causalShift())), t.index(0));
      if (p.single)
        keyBlock(t.index(0));
      else
        manyBlocks();
    });
  }

private:
  void bindBuffers() {
    auto input = [&](Value v) { return t.flat(k.inputs[cast<BlockArgument>(v).getArgNumber()]); };
    auto part = [&](int64_t at, int64_t end) { return t.scratch(k.scratch, at * 4, std::max<int64_t>(end - at, 1)); };
    q = input(p.op.getQuery()), key = input(p.op.getKey()), value = input(p.op.getValue());
    if (Value m = p.op.getMask())
      mask = input(m);
    out = t.flat(k.outputs[0]);
    queries = part(p.map.q, p.map.k), keysT = part(p.map.k, p.map.v), values = part(p.map.v, p.map.s);
    scores = part(p.map.s, p.map.o), sums = part(p.map.sum, p.map.total);
    if (!p.single)
      output = part(p.map.o, p.map.top), tops = part(p.map.top, p.map.sum);
    bool hf = p.op.getHeadsFirst();
    sq = stridesOf(dimsOf(p.op.getQuery()), hf), sk = stridesOf(dimsOf(p.op.getKey()), hf);
    sv = stridesOf(dimsOf(p.op.getValue()), hf), so = stridesOf(dimsOf(p.op.getResult()), hf);
  }

  int64_t causalShift() { return p.op.getBottomRight() ? p.keys - p.queries : 0; }
  Value offset(const Strides &s, Value headIndex, Value row) {
    return t.add(t.add(t.mul(batch, s.batch), t.mul(headIndex, s.head)), t.mul(row, s.row));
  }
  /// Vectors of a row of `count` elements with their masks.
  void forVectors(int64_t count, llvm::function_ref<void(int64_t at, Value mask)> body) {
    for (int64_t d = 0; d < count; d += t.lanes)
      body(d, t.maskOf(count - d));
  }

  /// The scale goes into Q once; with log2(e) too when nothing is added to the scores later. A mask of the most
  /// negative float must not be multiplied: it would become -inf and turn a uniform row into NaN.
  void packQueries() {
    double scale = p.op.getScale().convertToDouble() * (p.floatMask ? 1.0 : kLog2e);
    Value factor = t.splat(t.f32(scale));
    forLoop(t.b, t.loc, t.index(0), t.index(p.blockQueries), 1, [&](Value r) {
      Value from = offset(sq, head, t.add(first, r)), to = t.mul(r, p.depthPitch);
      forVectors(p.depth, [&](int64_t d, Value m) {
        Value x = arith::MulFOp::create(t.b, t.loc, t.loadVector(q, t.add(from, d), m), factor);
        t.storeVector(queries, t.add(to, d), x);
      });
    });
  }

  void manyBlocks() {
    Value hidden = t.f32(-kInf), zero = t.f32(0);
    forLoop(t.b, t.loc, t.index(0), t.index(p.blockQueries), 1, [&](Value r) {
      t.storeScalar(tops, r, hidden);
      t.storeScalar(sums, r, zero);
      forVectors(p.valuePitch,
                 [&](int64_t d, Value) { t.storeVector(output, t.add(t.mul(r, p.valuePitch), d), t.zeroVector()); });
    });
    forLoop(t.b, t.loc, t.index(0), keysEnd, p.blockKeys, [&](Value j0) { keyBlock(j0); });
    forLoop(t.b, t.loc, t.index(0), t.index(p.blockQueries), 1, [&](Value r) {
      Value factor = t.splat(inverseSum(r));
      Value target = offset(so, head, t.add(first, r));
      forVectors(p.valueDepth, [&](int64_t d, Value m) {
        Value x = t.loadVector(output, t.add(t.mul(r, p.valuePitch), d));
        t.storeVector(out, t.add(target, d), arith::MulFOp::create(t.b, t.loc, x, factor), m);
      });
    });
  }

  void keyBlock(Value j0) {
    Value count = t.min(t.sub(keysEnd, j0), t.index(p.blockKeys));
    Value panels = t.div(t.add(count, p.panel - 1), p.panel);
    packKeysAndValues(j0, count, panels);
    RowTiles tiles = RowTiles::cut(p.blockQueries, tileRows(isa, isa.matmulVectors));
    forLoop(t.b, t.loc, t.index(0), panels, 1, [&](Value panel) {
      Value column = t.mul(panel, p.panel);
      SmallVector<Value> live(isa.matmulVectors); // lanes that are keys at all
      if (p.keys % p.panel)
        for (int64_t v = 0; v < isa.matmulVectors; ++v)
          live[v] = t.maskOf(t.max(t.sub(t.sub(count, column), t.index(v * t.lanes)), t.index(0)));
      forRowTiles(t, tiles, t.index(0), t.index(tiles.count),
                  [&](Value, Value row, int64_t rows) { scoreTile(row, rows, column, j0, live); });
    });
    forLoop(t.b, t.loc, t.index(0), t.index(p.blockQueries), 1, [&](Value row) {
      if (p.single && p.blocks == 1)
        fetchNextHead(row);
      softmaxRow(row, panels);
    });
    addValues(count);
  }

  /// Brings row `row` of the next task's operands to L2: heads lie H * D apart, in runs too short for the hardware's
  /// prefetchers (8 x 12 heads x 128 x d64: 2.75 -> 2.60 ms).
  void fetchNextHead(Value row) {
    Value h = t.rem(nextTask, p.heads), b = t.div(nextTask, p.heads);
    auto fetch = [&](Value memref, const Strides &s, Value headIndex, int64_t count) {
      Value at = t.add(t.add(t.mul(b, s.batch), t.mul(headIndex, s.head)), t.mul(row, s.row));
      int64_t line = 64 * 8 / cast<MemRefType>(memref.getType()).getElementTypeBitWidth();
      for (int64_t i = 0; i < count; i += line)
        memref::PrefetchOp::create(t.b, t.loc, memref, ValueRange{t.add(at, i)}, /*isWrite=*/false, /*localityHint=*/2,
                                   /*isDataCache=*/true);
    };
    fetch(q, sq, h, p.depth);
    fetch(key, sk, t.div(h, p.heads / p.kvHeads), p.depth);
    fetch(value, sv, t.div(h, p.heads / p.kvHeads), p.valueDepth);
  }

  void packKeysAndValues(Value j0, Value count, Value panels) {
    forLoop(t.b, t.loc, t.index(0), panels, 1, [&](Value panel) {
      Value column = t.mul(panel, p.panel);
      packTransposed(t, key, offset(sk, kvHead, t.add(j0, column)), sk.row,
                     t.min(t.sub(count, column), t.index(p.panel)), keysT, t.mul(column, p.depth), p.panel, p.depth);
    });
    packStraight(t, value, offset(sv, kvHead, j0), sv.row, t.index(p.valueDepth), values, t.index(0), p.valuePitch,
                 count);
  }

  /// S[row..][column..] = Q K^T (+ mask, -inf where hidden).
  void scoreTile(Value row, int64_t rows, Value column, Value j0, ArrayRef<Value> live) {
    int64_t vectors = isa.matmulVectors;
    Value rowBase = t.mul(row, p.depthPitch), panelBase = t.mul(column, p.depth);
    SmallVector<Value> acc = multiplyTile(
        t, rows, vectors, t.index(p.depth),
        {[&](Value d, int64_t r) { return t.loadScalar(queries, t.add(t.add(rowBase, d), r * p.depthPitch)); },
         [&](Value d, int64_t v) {
           return t.loadVector(keysT, t.add(t.add(panelBase, t.mul(d, p.panel)), v * t.lanes));
         }});
    for (int64_t v = 0; v < vectors; ++v) {
      Value keyIndex = t.add(t.add(j0, column), v * t.lanes), perColumn; // of a mask that is equal for all rows
      for (int64_t r = 0; r < rows; ++r) {
        Value query = t.add(t.add(first, row), r);
        Value x = maskedScore(acc[r * vectors + v], query, keyIndex, live[v], perColumn);
        t.storeVector(scores, t.add(t.add(t.mul(t.add(row, r), p.blockKeys), column), v * t.lanes), x);
      }
    }
  }

  Value maskedScore(Value x, Value query, Value keyIndex, Value live, Value &perColumn) {
    Value hidden = t.splat(t.f32(-kInf));
    auto hideUnless = [&](Value visible) { x = arith::SelectOp::create(t.b, t.loc, visible, x, hidden); };
    if (p.op.getMask()) {
      ArrayRef<int64_t> dims = dimsOf(p.op.getMask());
      bool perRow = dims.size() >= 2 && dims[dims.size() - 2] != 1;
      Value m = !perRow && perColumn ? perColumn : loadMask(query, keyIndex, live);
      if (!perRow)
        perColumn = m;
      if (p.boolMask)
        hideUnless(m);
      else
        x = arith::AddFOp::create(t.b, t.loc, x, m);
    }
    if (p.op.getCausal()) { // lanes [0, query + shift - key]
      Value visible = t.sub(t.add(query, causalShift() + 1), keyIndex);
      hideUnless(vector::CreateMaskOp::create(t.b, t.loc, VectorType::get({t.lanes}, t.b.getI1Type()),
                                              ValueRange{t.max(visible, t.index(0))}));
    }
    if (live)
      hideUnless(live);
    return x;
  }

  Value loadMask(Value query, Value keyIndex, Value live) {
    ArrayRef<int64_t> dims = dimsOf(p.op.getMask());
    Value index[4] = {batch, head, query, keyIndex}, at = t.index(0);
    int64_t stride = 1, skip = 4 - static_cast<int64_t>(dims.size());
    for (int64_t i = dims.size() - 1; i >= 0; --i) {
      if (dims[i] != 1)
        at = t.add(at, t.mul(index[skip + i], stride));
      stride *= dims[i];
    }
    bool vectorised = !dims.empty() && dims.back() != 1;
    if (p.floatMask)
      return vectorised ? t.loadVector(mask, at, live) : t.splat(t.loadScalar(mask, at));
    auto type = VectorType::get({t.lanes}, t.b.getI8Type());
    Value zero = arith::ConstantOp::create(t.b, t.loc, t.b.getZeroAttr(type)), bytes;
    if (!vectorised)
      bytes = t.splat(memref::LoadOp::create(t.b, t.loc, mask, ValueRange{at}));
    else if (live)
      bytes = vector::MaskedLoadOp::create(t.b, t.loc, type, mask, ValueRange{at}, live, zero);
    else
      bytes = vector::LoadOp::create(t.b, t.loc, type, mask, ValueRange{at});
    return arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ne, bytes, zero);
  }

  /// Two vectors at a time over the score row: `step(at, vector, accumulator)` gives the next accumulator.
  Value reduceScores(Value row, Value panels, Value init, llvm::function_ref<Value(Value at, Value x, Value acc)> step,
                     llvm::function_ref<Value(Value, Value)> join) {
    int64_t vectors = isa.matmulVectors;
    Value base = t.mul(row, p.blockKeys);
    auto loop = scf::ForOp::create(t.b, t.loc, t.index(0), panels, t.index(1), SmallVector<Value>(vectors, init));
    {
      OpBuilder::InsertionGuard guard(t.b);
      t.b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> next;
      for (int64_t v = 0; v < vectors; ++v) {
        Value at = t.add(t.add(base, t.mul(loop.getInductionVar(), p.panel)), v * t.lanes);
        next.push_back(step(at, t.loadVector(scores, at), loop.getRegionIterArgs()[v]));
      }
      scf::YieldOp::create(t.b, t.loc, next);
    }
    Value all = loop.getResult(0);
    for (int64_t v = 1; v < vectors; ++v)
      all = join(all, loop.getResult(v));
    return all;
  }

  /// max as maxps does it: a NaN score may be skipped here, its exponential still makes the sum NaN.
  Value larger(Value x, Value y) {
    Value greater = arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OGT, x, y);
    return arith::SelectOp::create(t.b, t.loc, greater, x, y);
  }

  /// 2^((x - top) * log2(e)), or 2^(x - top) where Q carries log2(e).
  Value exponential(Value x, Value top) {
    Value d = arith::SubFOp::create(t.b, t.loc, x, top);
    if (p.floatMask) {
      Value log2e = t.f32(kLog2e);
      d = arith::MulFOp::create(t.b, t.loc, d, mlir::isa<VectorType>(d.getType()) ? t.splat(log2e) : log2e);
    }
    return emitExp2NonPositive(t.b, t.loc, d);
  }

  void softmaxRow(Value row, Value panels) {
    auto join = [&](Value x, Value y) { return larger(x, y); };
    Value top = reduceScores(
        row, panels, t.splat(t.f32(-kInf)), [&](Value, Value x, Value acc) { return larger(x, acc); }, join);
    top = reduceLanes(t, top, join);
    Value before;
    if (!p.single) {
      before = t.loadScalar(tops, row);
      top = larger(top, before);
    }
    // Nothing visible yet: -inf - 0 gives zeros, -inf - -inf would give NaN that later blocks could not mend.
    Value none = arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, top, t.f32(-kInf));
    Value base = arith::SelectOp::create(t.b, t.loc, none, t.f32(0), top), baseVector = t.splat(base);
    auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(t.b, t.loc, x, y); };
    Value total = reduceScores(
        row, panels, t.zeroVector(),
        [&](Value at, Value x, Value acc) -> Value {
          Value e = exponential(x, baseVector);
          t.storeVector(scores, at, e);
          return add(acc, e);
        },
        add);
    Value sum = reduceLanes(t, total, add);
    if (!p.single)
      sum = rescale(row, top, exponential(before, base), sum);
    t.storeScalar(sums, row, sum);
  }

  /// The row's old sum and output shrink by `shrink`; returns the new sum.
  Value rescale(Value row, Value top, Value shrink, Value sum) {
    t.storeScalar(tops, row, top);
    Value factor = t.splat(shrink);
    forVectors(p.valuePitch, [&](int64_t d, Value) {
      Value at = t.add(t.mul(row, p.valuePitch), d);
      t.storeVector(output, at, arith::MulFOp::create(t.b, t.loc, t.loadVector(output, at), factor));
    });
    Value old = arith::MulFOp::create(t.b, t.loc, t.loadScalar(sums, row), shrink);
    return arith::AddFOp::create(t.b, t.loc, old, sum);
  }

  /// 1 / sum; a sum of 0 (nothing visible) gives inf, and 0 * inf = NaN. No keys at all is a product over nothing: 0.
  Value inverseSum(Value row) {
    Value sum = t.loadScalar(sums, row);
    Value inverse = arith::DivFOp::create(t.b, t.loc, t.f32(1), sum);
    if (!p.op.getZeroMaskedRows() && p.keys != 0)
      return inverse;
    Value none = arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, sum, t.f32(0));
    return arith::SelectOp::create(t.b, t.loc, none, t.f32(0), inverse);
  }

  void addValues(Value count) {
    // Columns in equal chunks of at most 4 vectors: 64 = 1 x 4, 80 = 3 + 2, 128 = 2 x 4 (AVX-512).
    int64_t all = p.valuePitch / t.lanes, most = std::min<int64_t>(all, isa.vectorRegisters >= 32 ? 4 : 2);
    int64_t vectors = llvm::divideCeil(all, llvm::divideCeil(all, most));
    for (int64_t v = 0; v < all; v += vectors) {
      int64_t width = std::min(vectors, all - v);
      RowTiles tiles = RowTiles::cut(p.blockQueries, tileRows(isa, width));
      forRowTiles(t, tiles, t.index(0), t.index(tiles.count),
                  [&](Value, Value row, int64_t rows) { valueTile(row, rows, v * t.lanes, width, count); });
    }
  }

  /// O += P V, or straight to the result when this is the only block.
  void valueTile(Value row, int64_t rows, int64_t d0, int64_t vectors, Value count) {
    Value rowBase = t.mul(row, p.blockKeys);
    auto outputAt = [&](int64_t r, int64_t v) { return t.add(t.mul(t.add(row, r), p.valuePitch), d0 + v * t.lanes); };
    SmallVector<Value> init;
    if (!p.single)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t v = 0; v < vectors; ++v)
          init.push_back(t.loadVector(output, outputAt(r, v)));
    SmallVector<Value> acc = multiplyTile(
        t, rows, vectors, count,
        {[&](Value j, int64_t r) { return t.loadScalar(scores, t.add(t.add(rowBase, j), r * p.blockKeys)); },
         [&](Value j, int64_t v) { return t.loadVector(values, t.add(t.mul(j, p.valuePitch), d0 + v * t.lanes)); }},
        init);
    for (int64_t r = 0; r < rows; ++r) {
      Value factor = p.single ? t.splat(inverseSum(t.add(row, r))) : Value();
      Value target = p.single ? t.add(offset(so, head, t.add(t.add(first, row), r)), d0) : Value();
      for (int64_t v = 0; v < vectors; ++v) {
        Value x = acc[r * vectors + v];
        if (!p.single) {
          t.storeVector(output, outputAt(r, v), x);
          continue;
        }
        t.storeVector(out, t.add(target, v * t.lanes), arith::MulFOp::create(t.b, t.loc, x, factor),
                      t.maskOf(p.valueDepth - d0 - v * t.lanes));
      }
    }
  }

  const Isa &isa;
  KernelBuilder &k;
  Problem p;
  TileBuilder t;
  Value q, key, value, mask, out;                           ///< memory
  Value queries, keysT, values, scores, output, tops, sums; ///< scratch
  Value batch, head, kvHead, first, keysEnd, nextTask;      ///< of the task
  Strides sq, sk, sv, so;
};

void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) { AttentionEmitter(request, k).run(); }

} // namespace

Emitter cpu::attentionEmitter() { return {"attention", match, emit}; }
