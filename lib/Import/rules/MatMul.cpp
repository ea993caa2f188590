//===- MatMul.cpp - matrix products and (refused) convolutions ------------===//
#include "lib/Import/Rules.h"
#include "lib/Import/rules/Common.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::import {

Value matmulAnyRank(Node &node, Value lhs, Value rhs) {
  int64_t lhsRank = node.rank(lhs), rhsRank = node.rank(rhs);
  if (!node.failed() && (lhsRank == 0 || rhsRank == 0)) {
    node.invalid("inputs need rank 1 or more");
    return {};
  }
  // numpy.matmul: a vector gets a unit dim that vanishes afterwards.
  if (lhsRank == 1)
    lhs = node.unsqueeze(lhs, {0});
  if (rhsRank == 1)
    rhs = node.unsqueeze(rhs, {1});
  Value result = node.matmul(lhs, rhs);
  SmallVector<int64_t> unit;
  if (lhsRank == 1)
    unit.push_back(node.rank(result) - 2);
  if (rhsRank == 1)
    unit.push_back(node.rank(result) - 1);
  return unit.empty() || node.failed() ? result : node.squeeze(result, unit);
}

static void importMatMul(Node &node) { node.result(matmulAnyRank(node, node.input(0), node.input(1))); }

/// Gemm-7..13: alpha * A' * B' + beta * C, all of rank 2, C broadcast.
static void importGemm(Node &node) {
  Value a = node.input(0), b = node.input(1), c = node.optional(2);
  if (node.rank(a) != 2 || node.rank(b) != 2)
    return node.invalid("inputs A and B need rank 2 (found " + Twine(node.rank(a)) + ", " + Twine(node.rank(b)) + ")");
  Value result = node.matmul(a, b, node.integer("transA", 0) != 0, node.integer("transB", 0) != 0);
  double alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  if (alpha != 1)
    result = node.mul(result, node.scalar(alpha, result));
  if (c && beta != 0)
    result = node.add(result, beta == 1 ? c : node.mul(c, node.scalar(beta, c)));
  node.result(result);
}

/// Checked before it is refused, so that a broken model is called broken.
static void importConv(Node &node) {
  if (int64_t group = node.integer("group", 1); group < 1)
    return node.invalid("group must be at least 1 (found " + Twine(group) + ")");
  for (StringRef name : {"strides", "dilations", "kernel_shape"})
    for (int64_t value : node.integers(name).value_or(SmallVector<int64_t>{}))
      if (value < 1)
        return node.invalid(name + " must be at least 1 (found " + Twine(value) + ")");
  node.unsupported("convolutions are not supported yet");
}

ArrayRef<Rule> matmulRules() {
  static const Rule rules[] = {
      {"", "MatMul", 1, importMatMul},
      {"", "Gemm", 7, importGemm},
      {"", "Conv", 1, importConv, 0, "refused: convolutions are not supported yet"},
      {"", "ConvTranspose", 1, importConv, 0, "refused: convolutions are not supported yet"},
  };
  return rules;
}

} // namespace gaudi::import
