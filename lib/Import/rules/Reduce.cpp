//===- Reduce.cpp - reductions, softmax ------------------------------------===//
#include "lib/Import/Rules.h"
#include "lib/Import/rules/Common.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::import {

SmallVector<int64_t> axesFrom(int64_t first, int64_t rank) {
  SmallVector<int64_t> axes(std::max<int64_t>(rank - first, 0));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

namespace {
struct Reduction {
  SmallVector<int64_t> axes; ///< sorted; empty: nothing to reduce
  bool keepdims;
};
} // namespace

/// `axes` is an attribute before opset 18 (ReduceSum: 13), then an input; none or an empty list means all axes, or no
/// reduction with noop_with_empty_axes.
static Reduction reductionOf(Node &node) {
  int64_t rank = node.rank(node.input(0));
  auto axes = node.intsFromAttributeOrInput("axes", 1).value_or(SmallVector<int64_t>{});
  Reduction reduction{node.normalized(axes, rank), node.integer("keepdims", 1) != 0};
  if (axes.empty() && !node.integer("noop_with_empty_axes", 0))
    reduction.axes = axesFrom(0, rank);
  llvm::sort(reduction.axes);
  return reduction;
}

static Value reduceBy(Node &node, ReduceKind kind, Value x, const Reduction &reduction) {
  if (!reduction.axes.empty())
    return node.reduce(kind, x, reduction.axes, reduction.keepdims);
  return kind == ReduceKind::sumsq ? node.mul(x, x) : x;
}

static void importReduce(Node &node) {
  node.result(reduceBy(node, static_cast<ReduceKind>(node.kind()), node.input(0), reductionOf(node)));
}

static void importReduceL1(Node &node) {
  node.result(reduceBy(node, ReduceKind::sum, node.unary(UnaryKind::abs, node.input(0)), reductionOf(node)));
}

/// A function of a sum: ReduceL2 = sqrt(sum of squares), ReduceLogSum = log(sum).
static void importReduceL2(Node &node) {
  node.result(node.unary(UnaryKind::sqrt, reduceBy(node, ReduceKind::sumsq, node.input(0), reductionOf(node))));
}
static void importReduceLogSum(Node &node) {
  node.result(node.unary(UnaryKind::log, reduceBy(node, ReduceKind::sum, node.input(0), reductionOf(node))));
}

/// log(sum(exp(x - max))) + max: exp of large values would overflow.
static void importReduceLogSumExp(Node &node) {
  Value x = node.input(0);
  Reduction reduction = reductionOf(node);
  if (reduction.axes.empty())
    return node.result(x);
  Value top = node.reduce(ReduceKind::max, x, reduction.axes, /*keepdims=*/true);
  // inf - inf is NaN: without a finite maximum, exp gives the infinity or the zeros that log wants.
  top = node.select(node.unary(UnaryKind::is_inf, top), node.scalar(0, top), top);
  Value sum = node.reduce(ReduceKind::sum, node.unary(UnaryKind::exp, node.sub(x, top)), reduction.axes, true);
  Value result = node.add(node.unary(UnaryKind::log, sum), top);
  node.result(reduction.keepdims ? result : node.squeeze(result, reduction.axes));
}

/// ArgMax, ArgMin -1, -12 (select_last_index); kind 1 is ArgMin.
static void importArgReduce(Node &node) {
  Value x = node.input(0);
  int64_t axis = node.normalized(node.integer("axis", 0), node.rank(x));
  node.result(node.make<ArgReduceOp>(x, axis, node.integer("keepdims", 1) != 0, node.kind() != 0,
                                     node.integer("select_last_index", 0) != 0));
}

/// Softmax-13, LogSoftmax-13: one axis, the last by default.
static void importSoftmax(Node &node) {
  Value x = node.input(0);
  node.result(node.make<SoftmaxOp>(x, node.normalized(node.integer("axis", -1), node.rank(x)), node.kind() != 0));
}

/// Before opset 13 the input is coerced to 2-D at `axis` (1 by default), and the softmax runs over all dims from it on.
static void importSoftmaxCoerced(Node &node) {
  Value x = node.input(0);
  int64_t rank = node.rank(x), axis = node.normalized(node.integer("axis", 1), std::max<int64_t>(rank, 1));
  if (axis == rank - 1)
    return node.result(node.make<SoftmaxOp>(x, axis, node.kind() != 0));
  Value flat = node.make<SoftmaxOp>(flatten2D(node, x, axis), 1, node.kind() != 0);
  node.result(node.reshapeTo(flat, node.shapeOf(x), /*allowZero=*/true));
}

static void importGlobalAveragePool(Node &node) {
  Value x = node.input(0);
  if (node.rank(x) < 3)
    return node.invalid("needs rank 3 or more (found " + Twine(node.rank(x)) + ")");
  node.result(node.reduce(ReduceKind::mean, x, axesFrom(2, node.rank(x)), /*keepdims=*/true));
}

static Rule reduction(StringRef op, ReduceKind kind) { return {"", op, 1, importReduce, int(kind)}; }

ArrayRef<Rule> reduceRules() {
  constexpr int plain = 0, log = 1, argMax = 0, argMin = 1;
  static const Rule rules[] = {
      reduction("ReduceSum", ReduceKind::sum),
      reduction("ReduceMean", ReduceKind::mean),
      reduction("ReduceMax", ReduceKind::max),
      reduction("ReduceMin", ReduceKind::min),
      reduction("ReduceProd", ReduceKind::prod),
      reduction("ReduceSumSquare", ReduceKind::sumsq),
      {"", "ReduceL1", 1, importReduceL1},
      {"", "ReduceL2", 1, importReduceL2},
      {"", "ReduceLogSum", 1, importReduceLogSum},
      {"", "ReduceLogSumExp", 1, importReduceLogSumExp},
      {"", "ArgMax", 1, importArgReduce, argMax},
      {"", "ArgMin", 1, importArgReduce, argMin},
      {"", "Softmax", 1, importSoftmaxCoerced, plain},
      {"", "Softmax", 13, importSoftmax, plain},
      {"", "LogSoftmax", 1, importSoftmaxCoerced, log},
      {"", "LogSoftmax", 13, importSoftmax, log},
      {"", "GlobalAveragePool", 1, importGlobalAveragePool},
  };
  return rules;
}

} // namespace gaudi::import
