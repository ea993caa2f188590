//===- Contrib.cpp - com.microsoft ops that ONNX Runtime's optimiser makes ===//
//
// Source: github.com/microsoft/onnxruntime, docs/ContribOperators.md.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Rules.h"
#include "lib/Import/rules/Activation.h"
#include "lib/Import/rules/Common.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::import {

/// Gelu, BiasGelu, FastGelu: a kind of gelu of x, plus bias if there is one.
static void importGelu(Node &node) {
  Value x = node.input(0);
  if (Value bias = node.optional(1))
    x = node.add(x, bias);
  node.result(node.unary(static_cast<UnaryKind>(node.kind()), x));
}

static void importQuickGelu(Node &node) {
  node.result(scaledSigmoidProduct(node, node.input(0), node.real("alpha", 1.702f)));
}

/// FusedMatMul: alpha * A' * B', transposing the last two dims; vectors are never transposed.
static void importFusedMatMul(Node &node) {
  if (node.integer("transBatchA", 0) || node.integer("transBatchB", 0))
    return node.unsupported("transBatchA and transBatchB are not supported");
  Value a = node.input(0), b = node.input(1);
  Value result = node.rank(a) >= 2 && node.rank(b) >= 2
                     ? node.matmul(a, b, node.integer("transA", 0) != 0, node.integer("transB", 0) != 0)
                     : matmulAnyRank(node, a, b);
  double alpha = node.real("alpha", 1);
  node.result(alpha == 1 ? result : node.mul(result, node.scalar(alpha, result)));
}

static Value activated(Node &node, Value x) {
  std::string name = node.string("activation", "");
  double alpha = node.real("activation_alpha", name == "HardSigmoid" ? 0.2f : 0.01f);
  if (name.empty())
    return x;
  if (name == "Relu")
    return node.unary(UnaryKind::relu, x);
  if (name == "Tanh")
    return node.unary(UnaryKind::tanh, x);
  if (name == "Sigmoid")
    return node.unary(UnaryKind::sigmoid, x);
  if (name == "LeakyRelu")
    return leakyRelu(node, x, alpha);
  if (name == "HardSigmoid")
    return hardSigmoid(node, x, alpha, node.real("activation_beta", 0.5f));
  if (name == "Gelu")
    return node.unary(UnaryKind::gelu, x);
  node.unsupported("activation '" + Twine(name) + "' is not supported");
  return {};
}

static void importFusedGemm(Node &node) {
  Value x = node.matmul(node.input(0), node.input(1), node.integer("transA", 0) != 0, node.integer("transB", 0) != 0);
  double alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  if (alpha != 1)
    x = node.mul(x, node.scalar(alpha, x));
  if (Value c = node.optional(2); c && beta != 0)
    x = node.add(x, beta == 1 ? c : node.mul(c, node.scalar(beta, c)));
  node.result(activated(node, x));
}

/// SkipLayerNormalization: inputs x, skip, gamma, beta, bias; results norm, mean, inverse deviation, x + skip + bias.
/// kind 1 is the simplified form: inputs x, skip, gamma, bias.
static void importSkipNorm(Node &node) {
  bool simplified = node.kind() == 1;
  Value sum = node.add(node.input(0), node.input(1)), gamma = node.input(2);
  if (Value bias = node.optional(simplified ? 3 : 4))
    sum = node.add(sum, bias);
  double epsilon = node.real("epsilon", 1e-12f);
  int64_t axis = node.rank(sum) - 1;
  auto axisAttr = node.builder().getI64IntegerAttr(axis);
  auto epsilonAttr = node.builder().getF64FloatAttr(epsilon);
  node.result(0, simplified ? node.make<RmsNormOp>(sum, gamma, axisAttr, epsilonAttr)
                            : node.make<LayerNormOp>(sum, gamma, node.optional(3), axisAttr, epsilonAttr));
  if (node.wants(1) || node.wants(2)) {
    if (simplified)
      return node.unsupported("statistics as results");
    auto [mean, inverse] = normStatistics(node, sum, axis, epsilon);
    node.result(1, mean);
    node.result(2, inverse);
  }
  node.result(3, sum);
}

/// Row 0 .. seq - 1 of the position table, or the rows that position_ids name.
static Value positionEmbedding(Node &node, Value ids, Value table) {
  if (Value positions = node.optional(8))
    return node.make<GatherOp>(table, positions, 0);
  auto one = [&](int64_t v) { return node.builder().getDenseI64ArrayAttr({v}); };
  Value length = node.shapeOf(ids, 1, 2);
  auto known = node.knownArray(length);
  return node.make<SliceOp>(table, Value(), known ? Value() : length, Value(), one(0), known, one(1), one(0));
}

/// EmbedLayerNormalization: inputs input_ids, segment_ids, word, position, segment, gamma, beta, mask, position_ids;
/// results norm, mask_index (number of kept tokens per batch), embedding sum.
static void importEmbedNorm(Node &node) {
  Value ids = node.input(0), segments = node.optional(1), mask = node.optional(7);
  Value sum = node.make<GatherOp>(node.input(2), ids, 0);
  sum = node.add(sum, positionEmbedding(node, ids, node.input(3)));
  if (segments)
    sum = node.add(sum, node.make<GatherOp>(node.input(4), segments, 0));
  node.result(0, node.make<LayerNormOp>(sum, node.input(5), node.input(6),
                                        node.builder().getI64IntegerAttr(node.rank(sum) - 1),
                                        node.builder().getF64FloatAttr(node.real("epsilon", 1e-12f))));
  if (node.wants(1)) {
    // Without a mask ONNX Runtime fills it with zeros (embed_layer_norm.cc).
    node.result(1, mask ? node.reduce(ReduceKind::sum, mask, {1}, /*keepdims=*/false)
                        : node.broadcastTo(node.scalarOf(0, node.builder().getI32Type()), node.shapeOf(ids, 0, 1)));
  }
  node.result(2, sum);
}

static Rule gelu(StringRef op, UnaryKind kind) { return {"com.microsoft", op, 1, importGelu, int(kind)}; }

ArrayRef<Rule> contribRules() {
  constexpr int plain = 0, simplified = 1;
  static const Rule rules[] = {
      gelu("Gelu", UnaryKind::gelu),
      gelu("BiasGelu", UnaryKind::gelu),
      gelu("FastGelu", UnaryKind::gelu_tanh),
      {"com.microsoft", "QuickGelu", 1, importQuickGelu},
      {"com.microsoft", "FusedMatMul", 1, importFusedMatMul, 0, "no transBatchA, transBatchB"},
      {"com.microsoft", "FusedGemm", 1, importFusedGemm, 0,
       "activation Relu, Tanh, Sigmoid, LeakyRelu, HardSigmoid or Gelu"},
      {"com.microsoft", "SkipLayerNormalization", 1, importSkipNorm, plain},
      {"com.microsoft", "SkipSimplifiedLayerNormalization", 1, importSkipNorm, simplified, "no statistics as results"},
      {"com.microsoft", "EmbedLayerNormalization", 1, importEmbedNorm},
  };
  return rules;
}

} // namespace gaudi::import
