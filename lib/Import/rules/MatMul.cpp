//===- MatMul.cpp - MatMul, Gemm ------------------------------------------===//
#include "lib/Import/Rules.h"
#include "lib/Onnx/Proto.h"

using namespace mlir;
using namespace gaudi::graph;
using namespace gaudi::import;

namespace {

/// numpy.matmul: vectors gain a unit dim that is dropped again.
void matmul(Node &n) {
  Value x = n.in(0), y = n.in(1);
  if (!x || !y)
    return;
  bool vectorX = Node::rank(x) == 1, vectorY = Node::rank(y) == 1;
  if (Node::rank(x) == 0 || Node::rank(y) == 0)
    return (void)n.invalid("operands must have rank >= 1");
  if (vectorX)
    x = n.unsqueeze(x, {0});
  if (vectorY)
    y = n.unsqueeze(y, {1});
  Value r = n.matmul(x, y);
  if (!r)
    return;
  int64_t rank = Node::rank(r);
  Dims drop;
  if (vectorX)
    drop.push_back(rank - 2);
  if (vectorY)
    drop.push_back(rank - 1);
  n.out(0, drop.empty() ? r : n.squeeze(r, drop));
}

/// alpha A' B' + beta C
void gemm(Node &n) {
  Value r = n.matmul(n.in(0), n.in(1), n.integer("transA", 0) != 0, n.integer("transB", 0) != 0);
  double alpha = n.number("alpha", 1), beta = n.number("beta", 1);
  if (alpha != 1)
    r = n.mul(r, n.scalarLike(alpha, r));
  if (n.has(2)) {
    Value c = n.in(2);
    r = n.add(r, beta == 1 ? c : n.mul(c, n.scalarLike(beta, c)));
  }
  n.out(0, r);
}

const RuleRow rows[] = {{"", "MatMul", 1, matmul}, {"", "Gemm", 7, gemm}};

} // namespace

llvm::ArrayRef<RuleRow> gaudi::import::matmulRules() { return rows; }
