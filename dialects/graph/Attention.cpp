//===- Attention.cpp - softmax(scale Q K^T + mask) V ----------------------===//
#include "dialects/graph/Build.h"
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

namespace {

/// Sizes of an attention, independent of the layout.
struct Sizes {
  int64_t batch, heads, kvHeads, queries, keys, depth, valueDepth;
};

Sizes sizesOf(ArrayRef<int64_t> q, ArrayRef<int64_t> k, ArrayRef<int64_t> v, bool headsFirst) {
  int h = headsFirst ? 1 : 2, s = headsFirst ? 2 : 1;
  return {q[0], q[h], k[h], q[s], k[s], q[3], v[3]};
}

} // namespace

static LogicalResult checkSizes(OptionalLoc loc, ArrayRef<int64_t> k, ArrayRef<int64_t> v, bool headsFirst,
                                const Sizes &z) {
  int h = headsFirst ? 1 : 2, s = headsFirst ? 2 : 1;
  struct Row {
    StringRef what;
    int64_t a, b;
  };
  for (const Row &row : {Row{"batch of query and key", z.batch, k[0]},
                         {"batch of query and value", z.batch, v[0]},
                         {"heads of key and value", z.kvHeads, v[h]},
                         {"length of key and value", z.keys, v[s]},
                         {"head size of query and key", z.depth, k[3]}})
    if (differ(row.a, row.b))
      return emitOptionalError(loc, row.what, " differ: ", row.a, " vs ", row.b);
  bool known = z.heads != kDynamic && z.kvHeads != kDynamic;
  if (known && (z.kvHeads == 0 ? z.heads != 0 : z.heads % z.kvHeads != 0))
    return emitOptionalError(loc, "query heads ", z.heads, " are no multiple of key heads ", z.kvHeads);
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  auto q = tensorType(adaptor.getQuery()), k = tensorType(adaptor.getKey()), v = tensorType(adaptor.getValue());
  if (q.getRank() != 4 || k.getRank() != 4 || v.getRank() != 4)
    return emitOptionalError(loc, "query, key and value need rank 4 (found ", q.getRank(), ", ", k.getRank(), ", ",
                             v.getRank(), ")");
  Type element = q.getElementType();
  if (element != k.getElementType() || element != v.getElementType())
    return emitOptionalError(loc, "query, key and value differ in type (", element, ", ", k.getElementType(), ", ",
                             v.getElementType(), ")");
  Sizes z = sizesOf(q.getShape(), k.getShape(), v.getShape(), adaptor.getHeadsFirst());
  if (failed(checkSizes(loc, k.getShape(), v.getShape(), adaptor.getHeadsFirst(), z)))
    return failure();
  if (Value mask = adaptor.getMask()) {
    if (!elementOf(mask).isInteger(1) && elementOf(mask) != element && !elementOf(mask).isF32())
      return emitOptionalError(loc, "mask has type ", elementOf(mask), ", expected i1, f32 or ", element);
    if (failed(checkBroadcastsTo(loc, "mask", dimsOf(mask), {z.batch, z.heads, z.queries, z.keys})))
      return failure();
  }
  Dims dims(q.getShape());
  dims[3] = z.valueDepth;
  return addResult(loc, dims, element, results);
}

//===----------------------------------------------------------------------===//
// evaluate
//===----------------------------------------------------------------------===//

namespace {

/// One operand or the result, addressed [batch, head, position].
struct Heads {
  Dims strides;

  Heads(ArrayRef<int64_t> shape, bool headsFirst) : strides(stridesOf(shape)) {
    if (!headsFirst)
      std::swap(strides[1], strides[2]);
  }
  int64_t at(int64_t batch, int64_t head, int64_t position) const {
    return batch * strides[0] + head * strides[1] + position * strides[2];
  }
};

/// What may be attended to: mask and causality, with the scores of one query row.
struct RowMask {
  const HostTensor *mask;
  Dims strides; // of the mask over [B, H, Sq, Skv]
  bool causal;
  int64_t shift; // query i sees keys j <= i + shift

  /// Applies itself to the scores of one row; false if nothing is left.
  bool apply(MutableArrayRef<double> scores, int64_t batch, int64_t head, int64_t query) const {
    constexpr double minusInfinity = -std::numeric_limits<double>::infinity();
    bool any = false;
    for (int64_t j = 0, n = scores.size(); j < n; ++j) {
      int64_t at = mask ? batch * strides[0] + head * strides[1] + query * strides[2] + j * strides[3] : 0;
      bool hidden = (causal && j > query + shift) || (mask && !mask->isFloat() && !mask->ints()[at]);
      scores[j] = hidden ? minusInfinity : scores[j] + (mask && mask->isFloat() ? mask->floats()[at] : 0);
      any |= scores[j] != minusInfinity;
    }
    return any;
  }
};

double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

} // namespace

LogicalResult AttentionOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &q = operands[0], &k = operands[1], &v = operands[2], *mask = getMask() ? &operands[3] : nullptr;
  Sizes z = sizesOf(q.shape, k.shape, v.shape, getHeadsFirst());
  Dims dims(q.shape), scoreDims{z.batch, z.heads, z.queries, z.keys};
  dims[3] = z.valueDepth;
  if (failed(checkSizes(getLoc(), k.shape, v.shape, getHeadsFirst(), z)) ||
      (mask && failed(checkBroadcastsTo(getLoc(), "mask", mask->shape, scoreDims))))
    return failure();
  FailureOr<HostTensor> out = allocate(*this, dims, q.elementType);
  if (failed(out))
    return failure();
  Heads atQ(q.shape, getHeadsFirst()), atK(k.shape, getHeadsFirst()), atV(v.shape, getHeadsFirst()),
      atOut(dims, getHeadsFirst());
  RowMask rowMask{mask, mask ? broadcastStrides(mask->shape, scoreDims) : Dims(), getCausal(),
                  getBottomRight() ? z.keys - z.queries : 0};
  double scale = getScale().convertToDouble();
  std::vector<double> row(z.keys);
  forEachElement<0>({z.batch, z.heads, z.queries}, {}, {}, [&](int64_t n, auto) {
    int64_t i = n % z.queries, head = n / z.queries % z.heads, b = n / z.queries / z.heads;
    int64_t kvHead = head / (z.heads / z.kvHeads);
    for (int64_t j = 0; j < z.keys; ++j)
      row[j] = scale * dot(&q.floats()[atQ.at(b, head, i)], &k.floats()[atK.at(b, kvHead, j)], z.depth);
    if (!rowMask.apply(row, b, head, i) && getZeroMaskedRows())
      return;
    softmaxLane(row.data(), z.keys, 1, false);
    double *target = out->floats().data() + atOut.at(b, head, i);
    for (int64_t j = 0; j < z.keys; ++j)
      for (int64_t d = 0; d < z.valueDepth; ++d)
        target[d] += row[j] * v.floats()[atV.at(b, kvHead, j) + d];
  });
  return finish(std::move(*out), results);
}

//===----------------------------------------------------------------------===//
// decompose
//===----------------------------------------------------------------------===//

namespace {

/// Builds the primitives. Batch and lengths may be dynamic, heads must be known.
class Decomposition {
public:
  Decomposition(AttentionOp op, OpBuilder &builder) : op(op), g(builder, op.getLoc()) {}

  FailureOr<Value> run() {
    Value q = prepare(op.getQuery()), k = prepare(op.getKey()), v = prepare(op.getValue());
    heads = dimsOf(q)[1], kvHeads = dimsOf(k)[1];
    if (heads == kDynamic || kvHeads == kDynamic || kvHeads == 0)
      return op.emitOpError("cannot be decomposed: number of heads is not known");
    Value scores = splitHeads(g.create<MatMulOp>(mergeHeads(q), k, false, /*transpose_rhs=*/true));
    scores = hide(scale(scores), q, k);
    Value y = splitHeads(g.create<MatMulOp>(mergeHeads(probabilities(scores)), v, false, false));
    if (!op.getHeadsFirst())
      y = g.transpose(y, {0, 2, 1, 3});
    return g.cast(y, elementOf(op.getResult()));
  }

private:
  /// [B, H, S, D] in fp32 at least.
  Value prepare(Value x) { return g.toF32(op.getHeadsFirst() ? x : g.transpose(x, {0, 2, 1, 3})); }

  /// Reshape by a list in which one dim may be -1 and 0 copies, exact when everything is static.
  Value reshape(Value x, ArrayRef<int64_t> dims) {
    return g.create<ReshapeOp>(x, Value(), g.b.getDenseI64ArrayAttr(dims), /*allowzero=*/false);
  }
  /// [B, H, S, N] -> [B, Hkv, (H/Hkv) S, N]: the query heads of one key head become rows of one product.
  Value mergeHeads(Value x) { return heads == kvHeads ? x : reshape(x, {0, kvHeads, mergedRows(x), 0}); }
  Value splitHeads(Value x) {
    int64_t queries = queriesOf();
    return heads == kvHeads ? x : reshape(x, {0, heads, queries == kDynamic || queries == 0 ? -1 : queries, 0});
  }
  int64_t queriesOf() { return dimsOf(op.getQuery())[op.getHeadsFirst() ? 2 : 1]; }
  int64_t mergedRows(Value x) {
    int64_t rows = dimsOf(x)[2];
    return rows == kDynamic || rows == 0 ? -1 : rows * (heads / kvHeads);
  }

  Value scale(Value scores) {
    double factor = op.getScale().convertToDouble();
    return factor == 1 ? scores : g.binary(BinaryKind::mul, scores, g.scalar(factor, elementOf(scores)));
  }
  Value minusInfinity(Value like) { return g.scalar(-std::numeric_limits<double>::infinity(), elementOf(like)); }

  Value hide(Value scores, Value q, Value k) {
    if (Value mask = op.getMask())
      scores = elementOf(mask).isInteger(1) ? g.select(mask, scores, minusInfinity(scores))
                                            : g.binary(BinaryKind::add, scores, g.cast(mask, elementOf(scores)));
    return op.getCausal() ? g.select(visible(q, k), scores, minusInfinity(scores)) : scores;
  }

  /// i1 [Sq, Skv]: key j <= query i + shift. Computed, not a constant: at length 512 it would be 256 KiB.
  Value visible(Value q, Value k) {
    Value queries = size(q), keys = size(k), zero = g.scalar(0, g.b.getI64Type()), one = g.scalar(1, g.b.getI64Type());
    Value i = g.create<RangeOp>(zero, queries, one), j = g.create<RangeOp>(zero, keys, one);
    if (op.getBottomRight())
      i = g.binary(BinaryKind::add, i, g.binary(BinaryKind::sub, keys, queries));
    return g.binary(BinaryKind::le, j, g.create<UnsqueezeOp>(i, ArrayRef<int64_t>{1}));
  }
  /// Dim 2 as a rank-0 i64.
  Value size(Value x) {
    if (int64_t n = dimsOf(x)[2]; n != kDynamic)
      return g.scalar(static_cast<double>(n), g.b.getI64Type());
    Value dim = g.create<ShapeOfOp>(x, int64_t(2), g.b.getI64IntegerAttr(3));
    return g.create<SqueezeOp>(dim, g.b.getDenseI64ArrayAttr({0}));
  }

  Value probabilities(Value scores) {
    Value p = g.create<SoftmaxOp>(scores, int64_t(3), /*log=*/false);
    if (!op.getZeroMaskedRows())
      return p;
    // Only rows that are -inf throughout: a NaN from the inputs must stay visible.
    Value isEmpty = g.binary(BinaryKind::eq, g.reduce(ReduceKind::max, scores, 3), minusInfinity(scores));
    return g.select(isEmpty, g.scalar(0, elementOf(p)), p);
  }

  AttentionOp op;
  Build g;
  int64_t heads = 0, kvHeads = 0;
};

} // namespace

FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  FailureOr<Value> result = Decomposition(*this, builder).run();
  if (failed(result))
    return failure();
  return SmallVector<Value>{*result};
}

Cost AttentionOp::cost() {
  Cost cost = defaultCost(*this);
  Sizes z = sizesOf(dimsOf(getQuery()), dimsOf(getKey()), dimsOf(getValue()), getHeadsFirst());
  double scores = double(z.batch) * z.heads * z.queries * z.keys;
  cost.flops = scores * (2.0 * z.depth + 2.0 * z.valueDepth + 5); // 5: softmax, see SoftmaxOp::cost
  return cost;
}
