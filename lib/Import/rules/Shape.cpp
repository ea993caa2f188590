//===- Shape.cpp - ops that change the shape of all elements --------------===//
#include "lib/Import/Rules.h"
#include "lib/Import/rules/Common.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::import {

/// Product of dims [begin, end), or dynamic.
static int64_t product(Node &node, Value x, int64_t begin, int64_t end) {
  int64_t result = 1;
  for (int64_t i = begin; i < end; ++i) {
    int64_t dim = node.dim(x, i);
    if (ShapedType::isDynamic(dim) || llvm::MulOverflow(result, dim, result))
      return ShapedType::kDynamic;
  }
  return result;
}

Value flatten2D(Node &node, Value x, int64_t axis) {
  int64_t rank = node.rank(x), rows = product(node, x, 0, axis), columns = product(node, x, axis, rank);
  // -1 cannot be deduced beside a zero, so it is used for a side that is not known only.
  if (!ShapedType::isDynamic(rows) && !ShapedType::isDynamic(columns))
    return node.reshapeTo(x, node.ints({rows, columns}), /*allowZero=*/true);
  if (!ShapedType::isDynamic(rows) && rows != 0)
    return node.reshape(x, {rows, -1});
  if (!ShapedType::isDynamic(columns) && columns != 0)
    return node.reshape(x, {-1, columns});
  auto count = [&](int64_t begin, int64_t end) {
    return node.reduce(ReduceKind::prod, node.shapeOf(x, begin, end), {0}, /*keepdims=*/true);
  };
  return node.reshapeTo(x, node.concat({count(0, axis), count(axis, rank)}, 0), /*allowZero=*/true);
}

/// Reshape-5, -14 (allowzero).
static void importReshape(Node &node) {
  node.result(node.reshapeTo(node.input(0), node.input(1), node.integer("allowzero", 0) != 0));
}

/// Flatten-1..25: [d0, ..., dn) -> [d0 * ... * d(axis-1), the rest].
static void importFlatten(Node &node) {
  Value x = node.input(0);
  int64_t rank = node.rank(x), axis = node.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return node.invalid("axis " + Twine(axis) + " is outside [" + Twine(-rank) + ", " + Twine(rank) + "]");
  node.result(flatten2D(node, x, axis < 0 ? axis + rank : axis));
}

/// Squeeze-1/11 has axes as an attribute, Squeeze-13 as an optional input.
static void importSqueeze(Node &node) {
  Value x = node.input(0);
  auto axes = node.intsFromAttributeOrInput("axes", 1);
  if (node.failed())
    return;
  if (!axes) {
    if (!cast<RankedTensorType>(x.getType()).hasStaticShape())
      return node.unsupported("without axes the rank of the result is not known; give the input shapes with --shape");
    return node.result(node.make<SqueezeOp>(x, DenseI64ArrayAttr()));
  }
  node.result(node.squeeze(x, node.normalized(*axes, node.rank(x))));
}

static void importUnsqueeze(Node &node) {
  Value x = node.input(0);
  auto axes = node.intsFromAttributeOrInput("axes", 1);
  if (!axes)
    return node.invalid("axes are missing");
  auto sorted = node.normalized(*axes, node.rank(x) + static_cast<int64_t>(axes->size()));
  llvm::sort(sorted);
  node.result(node.unsqueeze(x, sorted));
}

static void importTranspose(Node &node) {
  Value x = node.input(0);
  SmallVector<int64_t> reversed(node.rank(x));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  node.result(node.transpose(x, node.integers("perm").value_or(reversed)));
}

static void importExpand(Node &node) { node.result(node.broadcastTo(node.input(0), node.input(1))); }

/// Shape-1, -15 (start, end).
static void importShape(Node &node) {
  std::optional<int64_t> end;
  if (node.attribute("end"))
    end = node.integer("end", 0);
  node.result(node.shapeOf(node.input(0), node.integer("start", 0), end));
}

static void importSize(Node &node) {
  node.result(node.reduce(ReduceKind::prod, node.shapeOf(node.input(0)), {0}, /*keepdims=*/false));
}

/// Tile-6: repeats r of dims d as [1, d0, 1, d1 ...] -> broadcast [r0, 1, r1, 1 ...] -> reshape [r0 * d0, ...]. A
/// broadcast costs nothing once fused; r copies in a concat would.
static void importTile(Node &node) {
  Value x = node.input(0), repeats = node.cast(node.input(1), node.builder().getI64Type());
  int64_t rank = node.rank(x);
  if (node.dim(repeats, 0) != rank && !ShapedType::isDynamic(node.dim(repeats, 0)))
    return node.invalid("repeats has " + Twine(node.dim(repeats, 0)) + " values for rank " + Twine(rank));
  if (rank == 0)
    return node.result(x);
  SmallVector<int64_t> newAxes;
  for (int64_t i = 0; i < rank; ++i)
    newAxes.push_back(2 * i);
  Value ones = node.ints(SmallVector<int64_t>(rank, 1));
  Value pairs = node.concat({node.unsqueeze(repeats, {1}), node.unsqueeze(ones, {1})}, 1);
  Value spread = node.broadcastTo(node.unsqueeze(x, newAxes), node.reshape(pairs, {2 * rank}));
  node.result(node.reshapeTo(spread, node.mul(node.shapeOf(x), repeats), /*allowZero=*/true));
}

/// Identity, and Dropout at inference: its mask is all true.
static void importIdentity(Node &node) { node.result(node.input(0)); }

static void importDropout(Node &node) {
  if (node.has(2)) { // training_mode, since Dropout-12
    auto training = node.knownScalar(node.input(2));
    if (!training || *training != 0)
      return node.unsupported("training mode is not supported");
  }
  Value x = node.input(0);
  node.result(0, x);
  if (node.wants(1))
    node.result(1, node.broadcastTo(node.scalarOf(1, node.builder().getI1Type()), node.shapeOf(x)));
}

ArrayRef<Rule> shapeRules() {
  static const Rule rules[] = {
      {"", "Reshape", 5, importReshape},
      {"", "Flatten", 1, importFlatten},
      {"", "Squeeze", 1, importSqueeze},
      {"", "Unsqueeze", 1, importUnsqueeze},
      {"", "Transpose", 1, importTranspose},
      {"", "Expand", 8, importExpand},
      {"", "Shape", 1, importShape},
      {"", "Size", 1, importSize},
      {"", "Tile", 6, importTile},
      {"", "Identity", 1, importIdentity},
      {"", "Dropout", 7, importDropout, 0, "inference"},
  };
  return rules;
}

} // namespace gaudi::import
