//===- ContribAttention.cpp - com.microsoft Attention, MultiHeadAttention -===//
//
// Source: github.com/microsoft/onnxruntime, docs/ContribOperators.md; masks: contrib_ops/cpu/bert/attention_helper.h.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Rules.h"
#include "lib/Import/rules/Attention.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::import {

static double filterValue(Node &node) { return node.real("mask_filter_value", -10000.0f); }

/// Integer masks by rank: [batch] lengths of right padding, [batch, keys], [batch, queries, keys], or
/// [batch, 1, keys, keys]; nonzero means attend. Becomes additive, as ONNX Runtime does it (-10000, not -inf).
static Value integerMask(Node &node, Value mask, Value keysLike, Type type) {
  if (!mask)
    return {};
  if (isa<FloatType>(node.elementType(mask))) {
    node.unsupported("a float mask_index");
    return {};
  }
  Value attend;
  if (node.rank(mask) == 1) {
    int64_t batch = node.dim(keysLike, 0), length = node.dim(mask, 0);
    if (batch != length && !ShapedType::isDynamic(batch) && !ShapedType::isDynamic(length)) {
      node.unsupported("mask with start and end positions (" + Twine(length) + " values for batch " + Twine(batch) +
                       ")");
      return {};
    }
    attend = lengthMask(node, mask, keysLike, 1);
  } else {
    attend = node.elementType(mask).isInteger(1) ? mask : node.binary(BinaryKind::gt, mask, node.scalar(0, mask));
    if (node.rank(mask) == 2)
      attend = node.unsqueeze(attend, {1, 2});
    else if (node.rank(mask) == 3)
      attend = node.unsqueeze(attend, {1});
  }
  return additiveMask(node, attend, type, filterValue(node));
}

/// The attribute `scale`; 0 or absent means 1 / sqrt(head size).
static std::optional<double> scaleOf(Node &node) {
  double scale = node.real("scale", 0);
  return scale == 0 ? std::nullopt : std::optional(scale);
}

/// Widths of Q, K and V in the merged projection.
static std::optional<SmallVector<int64_t>> mergedWidths(Node &node, Value weights) {
  if (auto widths = node.integers("qkv_hidden_sizes"); widths && !widths->empty()) {
    if (widths->size() == 3)
      return widths;
    node.invalid("qkv_hidden_sizes has " + Twine(widths->size()) + " values, expected 3");
    return std::nullopt;
  }
  int64_t width = node.dim(weights, 1);
  if (ShapedType::isDynamic(width) || width % 3) {
    node.invalid("merged weights have " + Twine(width) + " columns, expected a multiple of 3");
    return std::nullopt;
  }
  return SmallVector<int64_t>(3, width / 3);
}

/// Attention: inputs x [batch, seq, in], weights [in, q + k + v], bias, mask_index, past, attention_bias.
static void importAttention(Node &node) {
  if (node.has(4) || node.wants(1))
    return node.unsupported("past and present are not supported");
  if (node.integer("do_rotary", 0))
    return node.unsupported("rotary embedding is not supported");
  Value x = node.input(0), weights = node.input(1);
  auto widths = mergedWidths(node, weights);
  if (!widths)
    return;
  Value merged = node.matmul(x, weights);
  if (Value bias = node.optional(2))
    merged = node.add(merged, bias);
  int64_t heads = node.integer("num_heads", 0), start = 0;
  SmallVector<Value, 3> parts;
  for (int64_t width : *widths) {
    parts.push_back(splitHeads(node, node.slice(merged, 2, start, start + width), heads));
    start += width;
  }
  Type type = node.elementType(x);
  Value mask = integerMask(node, node.optional(3), x, type);
  mask = combineMasks(node, mask, node.optional(5), type, filterValue(node));
  AttentionSpec spec{.scale = scaleOf(node), .causal = node.integer("unidirectional", 0) != 0, .bottomRight = true};
  node.result(mergeHeads(node, attention(node, parts[0], parts[1], parts[2], mask, spec)));
}

/// Part `i` of the merged bias [q + k + v].
static Value addBias(Node &node, Value x, Value bias, int64_t start) {
  int64_t width = node.dim(x, 2);
  if (bias && ShapedType::isDynamic(width)) {
    node.unsupported("the width of an input is not known; give the input shapes with --shape");
    return {};
  }
  return bias ? node.add(x, node.slice(bias, 0, start, start + width)) : x;
}

/// MultiHeadAttention: inputs query, key, value of rank 3, bias, key_padding_mask, attention_bias, past.
static void importMultiHeadAttention(Node &node) {
  for (int i : {6, 7, 8, 9})
    if (node.has(i))
      return node.unsupported("past is not supported");
  if (node.wants(1) || node.wants(2) || node.wants(3))
    return node.unsupported("present and scores as results are not supported");
  if (!node.has(1) || !node.has(2) || node.rank(node.input(0)) != 3 || node.rank(node.input(1)) != 3)
    return node.unsupported("packed QKV and rank-4 keys are not supported");
  Value q = node.input(0), k = node.input(1), v = node.input(2), bias = node.optional(3);
  Type type = node.elementType(q);
  Value mask = integerMask(node, node.optional(4), k, type);
  mask = combineMasks(node, mask, node.optional(5), type, filterValue(node));
  int64_t heads = node.integer("num_heads", 0), qWidth = node.dim(q, 2), kWidth = node.dim(k, 2);
  q = splitHeads(node, addBias(node, q, bias, 0), heads);
  k = splitHeads(node, addBias(node, k, bias, qWidth), heads);
  v = splitHeads(node, addBias(node, v, bias, qWidth + kWidth), heads);
  AttentionSpec spec{.scale = scaleOf(node), .causal = node.integer("unidirectional", 0) != 0, .bottomRight = true};
  node.result(mergeHeads(node, attention(node, q, k, v, mask, spec)));
}

ArrayRef<Rule> contribAttentionRules() {
  static const Rule rules[] = {
      {"com.microsoft", "Attention", 1, importAttention, 0,
       "no past and present, rotary embedding, start and end positions as mask"},
      {"com.microsoft", "MultiHeadAttention", 1, importMultiHeadAttention, 0,
       "query, key and value of rank 3; no past, present or scores"},
  };
  return rules;
}

} // namespace gaudi::import
