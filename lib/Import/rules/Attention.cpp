//===- Attention.cpp - Attention-23/24 ------------------------------------===//
#include "lib/Import/Rules.h"
#include "lib/Onnx/Proto.h"

#include <cmath>

using namespace mlir;
using namespace gaudi::graph;
using namespace gaudi::import;

namespace {

/// [B, S, H*D] -> [B, S, H, D].
Value splitHeads(Node &n, Value x, int64_t heads) {
  if (!x || heads <= 0)
    return x;
  int64_t width = Node::type(x).getShape().back();
  if (width == kDynamic || width % heads)
    return n.invalid("width " + Twine(width) + " is no multiple of " + Twine(heads) + " heads");
  return n.reshape(x, {0, 0, heads, width / heads});
}

/// https://onnx.ai/onnx/operators/onnx__Attention.html, without the cache and the extra outputs.
void attention(Node &n) {
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  if (!q || !k || !v)
    return;
  for (size_t i : {4, 5, 6})
    if (n.has(i))
      return (void)n.unsupported("past keys and values");
  for (size_t i : {1, 2, 3})
    if (n.wantsOutput(i))
      return (void)n.unsupported("outputs other than Y");
  if (n.number("softcap", 0) != 0)
    return (void)n.unsupported("softcap");
  bool flat = Node::rank(q) == 3;
  if (flat) {
    int64_t heads = n.integer("q_num_heads", 0), kvHeads = n.integer("kv_num_heads", 0);
    if (heads <= 0 || kvHeads <= 0)
      return (void)n.invalid("3-D inputs need q_num_heads and kv_num_heads");
    q = splitHeads(n, q, heads), k = splitHeads(n, k, kvHeads), v = splitHeads(n, v, kvHeads);
    if (!q || !k || !v)
      return;
  }
  int64_t depth = Node::type(q).getShape().back();
  if (depth == kDynamic)
    return (void)n.unsupported("head size that is not known");
  double scale = n.attr("scale") ? n.number("scale", 1) : 1 / std::sqrt(static_cast<double>(depth));
  Value y = n.make<AttentionOp>(q, k, v, n.optional(3), llvm::APFloat(scale), /*heads_first=*/!flat,
                                /*causal=*/n.integer("is_causal", 0) != 0, /*bottom_right=*/false, /*zero_masked_rows=*/true);
  if (y && flat)
    y = n.reshape(y, {0, 0, -1});
  n.out(0, y);
}

const RuleRow rows[] = {{"", "Attention", 23, attention}};

} // namespace

llvm::ArrayRef<RuleRow> gaudi::import::attentionRules() { return rows; }
