//===- Reduce.cpp - Reduce*, ArgMax, ArgMin -------------------------------===//
#include "lib/Import/Rules.h"
#include "lib/Onnx/Proto.h"

using namespace mlir;
using namespace gaudi::graph;
using namespace gaudi::import;

namespace {

/// The reduction of x, or x itself for an empty axes list with noop_with_empty_axes; null after a failure.
Value reduced(Node &n, ReduceKind kind, Value x) {
  if (!x)
    return {};
  int64_t rank = Node::rank(x);
  std::optional<Dims> list = n.integers("axes"); // before opset 18 (ReduceSum: 13)
  if (!list && n.has(1) && !(list = n.constant(1)))
    return n.unsupported("axes that are not constant");
  bool empty = !list || list->empty();
  if (empty && n.integer("noop_with_empty_axes", 0))
    return x;
  if (empty)
    list = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::optional<Dims> axes = n.axes(*list, rank);
  if (!axes)
    return {};
  if (axes->empty())
    return x; // rank 0
  return n.make<ReduceOp>(kind, x, ArrayRef<int64_t>(*axes), n.integer("keepdims", 1) != 0);
}

template <ReduceKind kind> void reduce(Node &n) { n.out(0, reduced(n, kind, n.in(0))); }

void reduceL1(Node &n) { n.out(0, reduced(n, ReduceKind::sum, n.unary(UnaryKind::abs, n.in(0)))); }
void reduceL2(Node &n) { n.out(0, n.unary(UnaryKind::sqrt, reduced(n, ReduceKind::sumsq, n.in(0)))); }
void reduceLogSum(Node &n) { n.out(0, n.unary(UnaryKind::log, reduced(n, ReduceKind::sum, n.in(0)))); }

template <bool isMin> void argReduce(Node &n) {
  Value x = n.in(0);
  if (!x)
    return;
  int64_t axis = n.axis(n.integer("axis", 0), Node::rank(x));
  if (axis >= 0)
    n.out(0, n.make<ArgReduceOp>(x, axis, n.integer("keepdims", 1) != 0, isMin,
                                 n.integer("select_last_index", 0) != 0));
}

const RuleRow rows[] = {
    {"", "ReduceSum", 1, reduce<ReduceKind::sum>},   {"", "ReduceMean", 1, reduce<ReduceKind::mean>},
    {"", "ReduceMax", 1, reduce<ReduceKind::max>},   {"", "ReduceMin", 1, reduce<ReduceKind::min>},
    {"", "ReduceProd", 1, reduce<ReduceKind::prod>}, {"", "ReduceSumSquare", 1, reduce<ReduceKind::sumsq>},
    {"", "ReduceL1", 1, reduceL1},                   {"", "ReduceL2", 1, reduceL2},
    {"", "ReduceLogSum", 1, reduceLogSum},           {"", "ArgMax", 1, argReduce<false>},
    {"", "ArgMin", 1, argReduce<true>},
};

} // namespace

llvm::ArrayRef<RuleRow> gaudi::import::reduceRules() { return rows; }
