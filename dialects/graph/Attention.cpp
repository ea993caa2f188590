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

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor, SmallVectorImpl<Type> &results) {
  auto q = tensorType(adaptor.getQuery()), k = tensorType(adaptor.getKey()), v = tensorType(adaptor.getValue());
  if (q.getRank() != 4 || k.getRank() != 4 || v.getRank() != 4)
    return emitOptionalError(loc, "query, key and value need rank 4 (found ", q.getRank(), ", ", k.getRank(), ", ",
                             v.getRank(), ")");
  if (q.getElementType() != k.getElementType() || q.getElementType() != v.getElementType())
    return emitOptionalError(loc, "query, key and value differ in type");
  Sizes size = sizesOf(q.getShape(), k.getShape(), v.getShape(), adaptor.getHeadsFirst());
  auto differ = [](int64_t a, int64_t b) { return a != b && a != kDynamic && b != kDynamic; };
  if (differ(size.depth, k.getDimSize(3)))
    return emitOptionalError(loc, "head size of query and key differ (", size.depth, " vs ", k.getDimSize(3), ")");
  if (size.heads != kDynamic && size.kvHeads != kDynamic && (size.kvHeads == 0 || size.heads % size.kvHeads))
    return emitOptionalError(loc, "query heads ", size.heads, " are no multiple of key heads ", size.kvHeads);
  if (adaptor.getMask()) {
    auto mask = tensorType(adaptor.getMask());
    if (!mask.getElementType().isInteger(1) && mask.getElementType() != q.getElementType() && !mask.getElementType().isF32())
      return emitOptionalError(loc, "mask has type ", mask.getElementType(), ", expected i1 or ", q.getElementType());
    Dims scores{size.batch, size.heads, size.queries, size.keys}, dims;
    if (failed(broadcastDims(loc, mask.getShape(), scores, dims)))
      return failure();
  }
  Dims dims(q.getShape());
  dims[3] = size.valueDepth;
  results.push_back(q.clone(dims));
  return success();
}

LogicalResult AttentionOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &q = operands[0], &k = operands[1], &v = operands[2];
  Sizes z = sizesOf(q.shape, k.shape, v.shape, getHeadsFirst());
  Dims outDims(q.shape);
  outDims[3] = z.valueDepth;
  HostTensor out = HostTensor::zeros(RankedTensorType::get(outDims, q.elementType));
  int h = getHeadsFirst() ? 1 : 2, s = getHeadsFirst() ? 2 : 1;
  Dims sq = stridesOf(q.shape), sk = stridesOf(k.shape), sv = stridesOf(v.shape), so = stridesOf(outDims);
  const HostTensor *mask = getMask() ? &operands[3] : nullptr;
  Dims scoreDims{z.batch, z.heads, z.queries, z.keys};
  SmallVector<int64_t> sm(4, 0);
  if (mask)
    sm = BroadcastIndex(mask->shape, scoreDims).strides;
  double scale = getScale().convertToDouble(), minusInf = -std::numeric_limits<double>::infinity();
  int64_t shift = getBottomRight() ? z.keys - z.queries : 0;
  std::vector<double> row(z.keys);
  for (int64_t b = 0; b < z.batch; ++b)
    for (int64_t head = 0; head < z.heads; ++head)
      for (int64_t i = 0; i < z.queries; ++i) {
        int64_t kvHead = head / (z.heads / z.kvHeads);
        const double *query = q.floats().data() + b * sq[0] + head * sq[h] + i * sq[s];
        bool any = false;
        for (int64_t j = 0; j < z.keys; ++j) {
          const double *key = k.floats().data() + b * sk[0] + kvHead * sk[h] + j * sk[s];
          double score = 0;
          for (int64_t d = 0; d < z.depth; ++d)
            score += query[d] * key[d];
          score *= scale;
          int64_t at = b * sm[0] + head * sm[1] + i * sm[2] + j * sm[3];
          if (mask && mask->isFloat())
            score += mask->floats()[at];
          bool hidden = (mask && !mask->isFloat() && !mask->ints()[at]) || (getCausal() && j > i + shift);
          row[j] = hidden ? minusInf : score;
          any |= row[j] != minusInf;
        }
        if (!any && getZeroMaskedRows())
          continue;
        softmaxLane(row.data(), z.keys, 1, false);
        double *target = out.floats().data() + b * so[0] + head * so[h] + i * so[s];
        for (int64_t j = 0; j < z.keys; ++j) {
          const double *value = v.floats().data() + b * sv[0] + kvHead * sv[h] + j * sv[s];
          for (int64_t d = 0; d < z.valueDepth; ++d)
            target[d] += row[j] * value[d];
        }
      }
  out.round();
  results.push_back(std::move(out));
  return success();
}

/// [B, H, S, D] -> [B, Hkv, H/Hkv, S, D], so that grouped heads broadcast against their key head.
static Value groupHeads(Build &g, Value x, int64_t kvHeads) {
  ArrayRef<int64_t> d = dimsOf(x);
  return g.reshape(x, {d[0], kvHeads, d[1] / kvHeads, d[2], d[3]});
}

FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &b) {
  Build g(b, getLoc());
  if (!llvm::all_of(getOperandTypes(), [](Type t) { return cast<RankedTensorType>(t).hasStaticShape(); }))
    return failure();
  auto headsFirst = [&](Value x) { return getHeadsFirst() ? x : g.transpose(x, {0, 2, 1, 3}); };
  Value q = g.toF32(headsFirst(getQuery())), k = g.toF32(headsFirst(getKey())), v = g.toF32(headsFirst(getValue()));
  Sizes z = sizesOf(dimsOf(q), dimsOf(k), dimsOf(v), true);
  bool grouped = z.heads != z.kvHeads;
  if (grouped) {
    q = groupHeads(g, q, z.kvHeads), k = groupHeads(g, k, z.kvHeads), v = groupHeads(g, v, z.kvHeads);
  }
  Value scores = g.create<MatMulOp>(q, k, /*transpose_lhs=*/false, /*transpose_rhs=*/true);
  if (grouped)
    scores = g.reshape(scores, {z.batch, z.heads, z.queries, z.keys});
  scores = g.binary(BinaryKind::mul, scores, g.scalar(getScale().convertToDouble(), elementOf(scores)));
  Value minusInf = g.scalar(-std::numeric_limits<double>::infinity(), elementOf(scores));
  if (Value mask = getMask())
    scores = elementOf(mask).isInteger(1) ? g.select(mask, scores, minusInf)
                                          : g.binary(BinaryKind::add, scores, g.cast(mask, elementOf(scores)));
  if (getCausal()) {
    auto iota = [&](int64_t n) {
      SmallVector<int64_t> values = llvm::to_vector(llvm::seq<int64_t>(n));
      return g.ints(values);
    };
    int64_t shift = getBottomRight() ? z.keys - z.queries : 0;
    Value rows = g.binary(BinaryKind::add, g.reshape(iota(z.queries), {z.queries, 1}), g.scalar(shift, b.getI64Type()));
    scores = g.select(g.binary(BinaryKind::le, iota(z.keys), rows), scores, minusInf);
  }
  Value p = g.create<SoftmaxOp>(scores, int64_t(3), /*log=*/false);
  if (getZeroMaskedRows()) {
    Value top = g.reduce(ReduceKind::max, scores, 3);
    p = g.select(g.binary(BinaryKind::eq, top, minusInf), g.scalar(0, elementOf(p)), p);
  }
  if (grouped)
    p = g.reshape(p, {z.batch, z.kvHeads, z.heads / z.kvHeads, z.queries, z.keys});
  Value y = g.create<MatMulOp>(p, v, false, false);
  if (grouped)
    y = g.reshape(y, {z.batch, z.heads, z.queries, z.valueDepth});
  if (!getHeadsFirst())
    y = g.transpose(y, {0, 2, 1, 3});
  return SmallVector<Value>{g.cast(y, elementOf(getResult()))};
}

Cost AttentionOp::cost() {
  Cost cost = defaultCost(*this);
  Sizes z = sizesOf(dimsOf(getQuery()), dimsOf(getKey()), dimsOf(getValue()), getHeadsFirst());
  double scores = double(z.batch) * z.heads * z.queries * z.keys;
  cost.flops = scores * (2.0 * z.depth + 2.0 * z.valueDepth + 5);
  return cost;
}
