//===- Norm.cpp - normalisations ------------------------------------------===//
#include "lib/Import/Rules.h"
#include "lib/Import/rules/Common.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::import {

std::pair<Value, Value> normStatistics(Node &node, Value x, int64_t axis, double epsilon) {
  auto axes = axesFrom(axis, node.rank(x));
  Value wide = node.elementType(x).isF64() ? x : node.cast(x, node.builder().getF32Type());
  Value mean = node.reduce(ReduceKind::mean, wide, axes, /*keepdims=*/true);
  Value centered = node.sub(wide, mean);
  Value variance = node.reduce(ReduceKind::mean, node.mul(centered, centered), axes, /*keepdims=*/true);
  return {mean, node.unary(UnaryKind::rsqrt, node.add(variance, node.scalar(epsilon, variance)))};
}

static FloatAttr epsilonAttr(Node &node, double otherwise) {
  return node.builder().getF64FloatAttr(node.real("epsilon", otherwise));
}

/// Statistics in fp32 are the only kind we have; ONNX's default, and what all exporters write.
static bool hasFloatStash(Node &node) {
  if (node.integer("stash_type", 1) == 1)
    return true;
  node.unsupported("stash_type other than float");
  return false;
}

/// LayerNormalization-17; ORT also writes it in the default domain of older opsets.
static void importLayerNorm(Node &node) {
  Value x = node.input(0);
  int64_t axis = node.normalized(node.integer("axis", -1), node.rank(x));
  if (!hasFloatStash(node))
    return;
  node.result(0, node.make<LayerNormOp>(x, node.input(1), node.optional(2), node.builder().getI64IntegerAttr(axis),
                                        epsilonAttr(node, 1e-5f)));
  if (!node.wants(1) && !node.wants(2))
    return;
  auto [mean, inverse] = normStatistics(node, x, axis, node.real("epsilon", 1e-5f));
  node.result(1, mean);
  node.result(2, inverse);
}

/// RMSNormalization-23, and ORT's SimplifiedLayerNormalization (default domain, not in the ONNX standard).
static void importRmsNorm(Node &node) {
  Value x = node.input(0);
  int64_t axis = node.normalized(node.integer("axis", -1), node.rank(x));
  if (!hasFloatStash(node))
    return;
  if (node.wants(1))
    return node.unsupported("the inverse deviation as a second result");
  node.result(node.make<RmsNormOp>(x, node.input(1), node.builder().getI64IntegerAttr(axis), epsilonAttr(node, 1e-5f)));
}

/// [C] -> [C, 1, 1 ...], to broadcast over [N, C, spatial...].
static Value perChannel(Node &node, Value vector, Value x) {
  if (node.rank(x) <= 2)
    return vector;
  return node.unsqueeze(vector, axesFrom(1, node.rank(x) - 1));
}

/// InstanceNormalization-6: statistics of each (n, c) over the spatial dims = a layer norm over the dims from 2 on.
static void importInstanceNorm(Node &node) {
  Value x = node.input(0);
  if (node.rank(x) < 3)
    return node.invalid("needs rank 3 or more (found " + Twine(node.rank(x)) + ")");
  Value normal =
      node.make<LayerNormOp>(x, Value(), Value(), node.builder().getI64IntegerAttr(2), epsilonAttr(node, 1e-5f));
  normal = node.mul(normal, perChannel(node, node.input(1), x));
  node.result(node.add(normal, perChannel(node, node.input(2), x)));
}

/// GroupNormalization-21: groups of channels share statistics; scale and bias are per channel (per group in -18).
static void importGroupNorm(Node &node) {
  Value x = node.input(0), scale = node.input(1), bias = node.input(2);
  int64_t groups = node.integer("num_groups", 0);
  if (groups < 1 || node.rank(x) < 2)
    return node.invalid("needs num_groups of at least 1 and rank 2 or more");
  if (!hasFloatStash(node))
    return;
  Value grouped = node.reshape(x, {0, groups, -1});
  Value normal =
      node.make<LayerNormOp>(grouped, Value(), Value(), node.builder().getI64IntegerAttr(2), epsilonAttr(node, 1e-5f));
  bool perGroup = node.opset < 21;
  if (perGroup)
    normal = node.add(node.mul(normal, node.unsqueeze(scale, {1})), node.unsqueeze(bias, {1}));
  normal = node.reshapeTo(normal, node.shapeOf(x), /*allowZero=*/true);
  if (!perGroup)
    normal = node.add(node.mul(normal, perChannel(node, scale, x)), perChannel(node, bias, x));
  node.result(normal);
}

/// BatchNormalization at inference: (x - mean) / sqrt(var + epsilon) * scale + bias, per channel.
static void importBatchNorm(Node &node) {
  if (node.integer("training_mode", 0))
    return node.unsupported("training mode is not supported");
  for (int i = 1; i < node.proto.output_size(); ++i)
    if (node.wants(i))
      return node.unsupported("running statistics as results");
  Value x = node.input(0), scale = node.input(1), bias = node.input(2), mean = node.input(3), variance = node.input(4);
  // All of one factor and one term, which fold when the parameters are constants.
  Value inverse = node.unary(UnaryKind::rsqrt, node.add(variance, node.scalar(node.real("epsilon", 1e-5f), variance)));
  Value factor = node.mul(scale, inverse);
  Value term = node.sub(bias, node.mul(mean, factor));
  node.result(node.add(node.mul(x, perChannel(node, factor, x)), perChannel(node, term, x)));
}

ArrayRef<Rule> normRules() {
  static const Rule rules[] = {
      {"", "LayerNormalization", 1, importLayerNorm, 0, "stash_type float"},
      {"", "SimplifiedLayerNormalization", 1, importRmsNorm, 0, "of ONNX Runtime; stash_type float, one result"},
      {"", "RMSNormalization", 23, importRmsNorm, 0, "stash_type float"},
      {"", "InstanceNormalization", 6, importInstanceNorm},
      {"", "GroupNormalization", 18, importGroupNorm},
      {"", "BatchNormalization", 7, importBatchNorm, 0, "inference"},
  };
  return rules;
}

} // namespace gaudi::import
