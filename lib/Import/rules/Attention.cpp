//===- Attention.cpp - Attention-23, -24 ----------------------------------===//
#include "lib/Import/rules/Attention.h"
#include "lib/Import/Rules.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::import {

Value splitHeads(Node &node, Value x, int64_t heads) {
  if (node.failed())
    return {};
  int64_t width = node.dim(x, 2);
  if (node.rank(x) != 3 || heads < 1 || (!ShapedType::isDynamic(width) && width % heads)) {
    node.invalid("cannot split " + Twine(x ? typeText(x.getType()) : "nothing") + " into " + Twine(heads) + " heads");
    return {};
  }
  return node.reshape(x, {0, 0, heads, ShapedType::isDynamic(width) ? -1 : width / heads});
}

Value mergeHeads(Node &node, Value x) {
  int64_t heads = node.dim(x, 2), size = node.dim(x, 3);
  bool isKnown = !ShapedType::isDynamic(heads) && !ShapedType::isDynamic(size);
  return node.reshape(x, {0, 0, isKnown ? heads * size : -1});
}

Value lengthMask(Node &node, Value lengths, Value keysLike, int64_t axis) {
  Type index = node.builder().getI64Type();
  Value count = node.reshape(node.shapeOf(keysLike, axis, axis + 1), {});
  Value positions = node.make<RangeOp>(node.scalarOf(0, index), count, node.scalarOf(1, index));
  return node.binary(BinaryKind::lt, positions, node.unsqueeze(node.cast(lengths, index), {1, 2, 3}));
}

Value additiveMask(Node &node, Value attend, Type type, double masked) {
  return node.select(attend, node.scalarOf(0, type), node.scalarOf(masked, type));
}

Value combineMasks(Node &node, Value a, Value b, Type type, double masked) {
  if (!a || !b)
    return a ? a : b;
  bool boolA = node.elementType(a).isInteger(1), boolB = node.elementType(b).isInteger(1);
  if (boolA && boolB)
    return node.binary(BinaryKind::logical_and, a, b);
  auto additive = [&](Value mask, bool isBool) {
    return isBool ? additiveMask(node, mask, type, masked) : node.cast(mask, type);
  };
  return node.add(additive(a, boolA), additive(b, boolB));
}

Value attention(Node &node, Value q, Value k, Value v, Value mask, const AttentionSpec &spec) {
  double scale = spec.scale.value_or(0);
  if (!spec.scale) {
    int64_t size = node.dim(q, 3);
    if (ShapedType::isDynamic(size) || size < 1) {
      node.unsupported("the head size is not known; give the input shapes with --shape");
      return {};
    }
    scale = 1 / std::sqrt(static_cast<double>(size));
  }
  return node.make<AttentionOp>(q, k, v, mask, llvm::APFloat(scale), spec.headsFirst, spec.causal, spec.bottomRight,
                                spec.zeroMaskedRows);
}

/// What Attention-24 has and graph.attention has not.
static const char *missingFeature(Node &node) {
  if (node.has(4) || node.has(5))
    return "past_key and past_value are not supported";
  if (node.wants(1) || node.wants(2))
    return "present_key and present_value are not supported";
  if (node.wants(3))
    return "qk_matmul_output is not supported";
  if (node.real("softcap", 0) != 0)
    return "softcap is not supported";
  return nullptr;
}

/// A mask may end before the keys do; the rest is masked (Attention-24).
static Value padMask(Node &node, Value mask, int64_t keys) {
  int64_t rank = node.rank(mask), length = node.dim(mask, rank - 1);
  if (!mask || ShapedType::isDynamic(length) || ShapedType::isDynamic(keys) || length == 1 || length >= keys)
    return mask;
  SmallVector<int64_t> pads(2 * rank, 0);
  pads.back() = keys - length;
  bool isBool = node.elementType(mask).isInteger(1);
  Value fill = isBool ? Value() : node.scalar(-std::numeric_limits<double>::infinity(), mask);
  return node.make<PadOp>(mask, Value(), fill, node.builder().getDenseI64ArrayAttr(pads));
}

/// Inputs Q, K, V of rank 4 [batch, heads, seq, size], or of rank 3 [batch, seq, heads * size] with head counts as
/// attributes; rows of only masked keys give zero (note in the page of Attention-24).
static void importAttention(Node &node) {
  if (const char *reason = missingFeature(node))
    return node.unsupported(reason);
  Value q = node.input(0), k = node.input(1), v = node.input(2), mask = node.optional(3);
  AttentionSpec spec{.scale = std::nullopt,
                     .headsFirst = node.rank(q) == 4,
                     .causal = node.integer("is_causal", 0) != 0,
                     .zeroMaskedRows = true};
  if (node.attribute("scale"))
    spec.scale = node.real("scale", 0);
  if (node.rank(q) == 3) {
    int64_t heads = node.integer("q_num_heads", 0), keyHeads = node.integer("kv_num_heads", 0);
    q = splitHeads(node, q, heads);
    k = splitHeads(node, k, keyHeads);
    v = splitHeads(node, v, keyHeads);
  }
  Type type = node.elementType(q);
  mask = padMask(node, mask, node.dim(k, spec.headsFirst ? 2 : 1));
  if (node.has(6)) // nonpad_kv_seqlen, Attention-24
    mask = combineMasks(node, mask, lengthMask(node, node.input(6), k, spec.headsFirst ? 2 : 1), type,
                        -std::numeric_limits<double>::infinity());
  else if (mask && !node.elementType(mask).isInteger(1))
    mask = node.cast(mask, type);
  Value result = attention(node, q, k, v, mask, spec);
  node.result(spec.headsFirst ? result : mergeHeads(node, result));
}

ArrayRef<Rule> attentionRules() {
  static const Rule rules[] = {
      {"", "Attention", 23, importAttention, 0, "no past and present, softcap, qk_matmul_output"}};
  return rules;
}

} // namespace gaudi::import
