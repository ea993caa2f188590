//===- Contrib.cpp - com.microsoft ops of onnxruntime-optimised graphs ----===//
//
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Rules.h"
#include "lib/Onnx/Proto.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gaudi::graph;
using namespace gaudi::import;

namespace {

constexpr const char *kMicrosoft = "com.microsoft";

void gelu(Node &n) { n.out(0, n.unary(UnaryKind::gelu, n.in(0))); }
void biasGelu(Node &n) { n.out(0, n.unary(UnaryKind::gelu, n.add(n.in(0), n.in(1)))); }
void fastGelu(Node &n) {
  Value x = n.in(0);
  n.out(0, n.unary(UnaryKind::gelu_tanh, n.has(1) ? n.add(x, n.in(1)) : x));
}

/// x * sigmoid(alpha x)
void quickGelu(Node &n) {
  Value x = n.in(0);
  double alpha = n.number("alpha", 1.702f);
  n.out(0, alpha == 1 ? n.unary(UnaryKind::silu, x) : n.mul(x, n.unary(UnaryKind::sigmoid, n.mul(x, n.scalarLike(alpha, x)))));
}

void fusedMatMul(Node &n) {
  if (n.integer("transBatchA", 0) || n.integer("transBatchB", 0))
    return (void)n.unsupported("transBatchA, transBatchB");
  Value r = n.matmul(n.in(0), n.in(1), n.integer("transA", 0) != 0, n.integer("transB", 0) != 0);
  double alpha = n.number("alpha", 1);
  n.out(0, alpha == 1 ? r : n.mul(r, n.scalarLike(alpha, r)));
}

Value activate(Node &n, StringRef name, Value x) {
  if (name.empty())
    return x;
  struct Row {
    const char *name;
    UnaryKind kind;
  };
  static const Row table[] = {{"Relu", UnaryKind::relu}, {"Tanh", UnaryKind::tanh}, {"Sigmoid", UnaryKind::sigmoid},
                              {"Softplus", UnaryKind::softplus}};
  for (const Row &row : table)
    if (name == row.name)
      return n.unary(row.kind, x);
  return n.unsupported("activation '" + name + "'");
}

void fusedGemm(Node &n) {
  Value r = n.matmul(n.in(0), n.in(1), n.integer("transA", 0) != 0, n.integer("transB", 0) != 0);
  double alpha = n.number("alpha", 1), beta = n.number("beta", 1);
  if (alpha != 1)
    r = n.mul(r, n.scalarLike(alpha, r));
  if (n.has(2))
    r = n.add(r, beta == 1 ? n.in(2) : n.mul(n.in(2), n.scalarLike(beta, n.in(2))));
  n.out(0, activate(n, n.text("activation", ""), r));
}

Value layerNormOf(Node &n, Value x, Value scale, Value bias) {
  if (!x)
    return {};
  return n.make<LayerNormOp>(x, scale, bias, n.b.getI64IntegerAttr(Node::rank(x) - 1),
                             n.b.getF64FloatAttr(n.number("epsilon", 1e-12f)));
}

/// outputs: Y, mean, inverse deviation, input + skip + bias
void skipLayerNorm(Node &n) {
  Value sum = n.add(n.in(0), n.in(1));
  if (n.has(4))
    sum = n.add(sum, n.in(4));
  if (n.wantsOutput(1) || n.wantsOutput(2))
    return (void)n.unsupported("mean and inverse deviation as outputs (training)");
  n.out(0, layerNormOf(n, sum, n.in(2), n.optional(3)));
  if (n.wantsOutput(3))
    n.out(3, sum);
}

/// inputs: ids, segment ids?, word, position, segment table?, gamma, beta, mask?, position ids?;
/// outputs: Y, mask index (number of ones per row), embedding sum
void embedLayerNorm(Node &n) {
  Value ids = n.in(0), word = n.in(2), position = n.in(3);
  if (!ids || !word || !position)
    return;
  auto rowsOf = [&](Value table, Value indices) { return n.make<GatherOp>(table, indices, n.b.getI64IntegerAttr(0)); };
  Value sum = rowsOf(word, ids);
  if (n.has(8))
    sum = n.add(sum, rowsOf(position, n.in(8)));
  else {
    Value length = n.squeeze(n.dim(ids, 1), {0});
    Type i64 = n.b.getI64Type();
    Value iota = n.make<RangeOp>(n.scalar(0, i64), length, n.scalar(1, i64));
    sum = n.add(sum, rowsOf(position, iota));
  }
  if (n.has(1) && n.has(4))
    sum = n.add(sum, rowsOf(n.in(4), n.in(1)));
  n.out(0, layerNormOf(n, sum, n.in(5), n.in(6)));
  if (n.wantsOutput(1)) {
    Value count = n.has(7) ? n.make<ReduceOp>(ReduceKind::sum, n.cast(n.in(7), n.b.getI32Type()), ArrayRef<int64_t>{1}, false)
                           : Value();
    n.out(1, count ? count : Value(n.unsupported("mask index without a mask")));
  }
  if (n.wantsOutput(2))
    n.out(2, sum);
}

/// Additive mask [B,1,1,S] from a raw 0/1 mask [B,S], or from right-padding lengths [B].
Value keyMask(Node &n, Value mask, Value keys, Type type) {
  double filter = n.number("mask_filter_value", -10000.0f);
  Value keep;
  if (Node::rank(mask) == 2)
    keep = n.binary(BinaryKind::eq, mask, n.scalarLike(0, mask)); // true = hidden
  else if (Node::rank(mask) == 1) {
    Type i64 = n.b.getI64Type();
    Value iota = n.make<RangeOp>(n.scalar(0, i64), n.squeeze(n.dim(keys, 1), {0}), n.scalar(1, i64));
    keep = n.binary(BinaryKind::ge, n.unsqueeze(iota, {0}), n.unsqueeze(n.cast(mask, i64), {1}));
  } else
    return n.unsupported("mask of rank " + Twine(Node::rank(mask)));
  Value additive = n.select(keep, n.scalar(filter, type), n.scalar(0, type));
  return n.unsqueeze(additive, {1, 2});
}

Value splitHeads(Node &n, Value x, int64_t heads) {
  if (!x)
    return {};
  int64_t width = Node::type(x).getShape().back();
  if (heads <= 0 || width == kDynamic || width % heads)
    return n.invalid("width " + Twine(width) + " is no multiple of " + Twine(heads) + " heads");
  return n.reshape(x, {0, 0, heads, width / heads});
}

/// q, k, v: [B, S, H*D]. `key` gives the number of keys.
void attend(Node &n, Value q, Value k, Value v, Value mask, Value bias, bool causal) {
  int64_t heads = n.integer("num_heads", 0);
  Value key = k;
  q = splitHeads(n, q, heads), k = splitHeads(n, k, heads), v = splitHeads(n, v, heads);
  if (!q || !k || !v)
    return;
  Value additive = mask ? keyMask(n, mask, key, Node::element(q)) : Value();
  if (bias)
    additive = additive ? n.add(additive, bias) : bias;
  if (n.failed())
    return;
  double depth = static_cast<double>(Node::type(q).getShape().back());
  double scale = n.number("scale", 0);
  Value y = n.make<AttentionOp>(q, k, v, additive, llvm::APFloat(scale != 0 ? scale : 1 / std::sqrt(depth)),
                                /*heads_first=*/false, causal, /*bottom_right=*/true, /*zero_masked_rows=*/false);
  n.out(0, n.reshape(y, {0, 0, -1}));
}

/// inputs: x, merged weights [h, 3h], merged bias, mask index?, past?, attention bias?
void attention(Node &n) {
  if (n.has(4))
    return (void)n.unsupported("past keys and values");
  if (n.wantsOutput(1))
    return (void)n.unsupported("present keys and values");
  if (n.integers("qkv_hidden_sizes"))
    return (void)n.unsupported("qkv_hidden_sizes");
  Value x = n.in(0), weights = n.in(1);
  if (!x || !weights)
    return;
  Value qkv = n.matmul(x, weights);
  if (n.has(2))
    qkv = n.add(qkv, n.in(2));
  if (!qkv)
    return;
  int64_t rank = Node::rank(qkv), width = Node::type(qkv).getShape().back();
  if (width == kDynamic || width % 3)
    return (void)n.invalid("merged width " + Twine(width) + " is no multiple of 3");
  auto part = [&](int64_t i) { return n.slice(qkv, rank - 1, i * width / 3, (i + 1) * width / 3); };
  attend(n, part(0), part(1), part(2), n.optional(3), n.optional(5), n.integer("unidirectional", 0) != 0);
}

/// inputs: q, k, v, bias [3h]?, key padding mask?, attention bias?, past...
void multiHeadAttention(Node &n) {
  if (n.has(6) || n.has(7))
    return (void)n.unsupported("past keys and values");
  if (n.wantsOutput(1) || n.wantsOutput(2))
    return (void)n.unsupported("present keys and values");
  Value q = n.in(0);
  if (!n.has(1) || !n.has(2))
    return (void)n.unsupported("packed query, key and value");
  Value k = n.in(1), v = n.in(2);
  if (!q || !k || !v)
    return;
  if (Node::rank(q) != 3 || Node::rank(k) != 3 || Node::rank(v) != 3)
    return (void)n.unsupported("query, key or value that is not 3-D");
  if (n.has(3)) {
    int64_t hq = Node::type(q).getShape().back(), hk = Node::type(k).getShape().back(), hv = Node::type(v).getShape().back();
    Value bias = n.in(3);
    q = n.add(q, n.slice(bias, 0, 0, hq));
    k = n.add(k, n.slice(bias, 0, hq, hq + hk));
    v = n.add(v, n.slice(bias, 0, hq + hk, hq + hk + hv));
  }
  attend(n, q, k, v, n.optional(4), n.optional(5), n.integer("unidirectional", 0) != 0);
}

const RuleRow rows[] = {
    {kMicrosoft, "Gelu", 1, gelu},
    {kMicrosoft, "BiasGelu", 1, biasGelu},
    {kMicrosoft, "FastGelu", 1, fastGelu},
    {kMicrosoft, "QuickGelu", 1, quickGelu},
    {kMicrosoft, "FusedMatMul", 1, fusedMatMul},
    {kMicrosoft, "FusedGemm", 1, fusedGemm},
    {kMicrosoft, "SkipLayerNormalization", 1, skipLayerNorm},
    {kMicrosoft, "EmbedLayerNormalization", 1, embedLayerNorm},
    {kMicrosoft, "Attention", 1, attention},
    {kMicrosoft, "MultiHeadAttention", 1, multiHeadAttention},
};

} // namespace

llvm::ArrayRef<RuleRow> gaudi::import::contribRules() { return rows; }
