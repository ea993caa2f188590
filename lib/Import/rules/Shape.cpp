//===- Shape.cpp - ONNX ops that move or reinterpret elements -------------===//
#include "lib/Import/Rules.h"
#include "lib/Onnx/Proto.h"

using namespace mlir;
using namespace gaudi::graph;
using namespace gaudi::import;

namespace {

void shape(Node &n) {
  auto end = n.attr("end") ? n.b.getI64IntegerAttr(n.integer("end", 0)) : IntegerAttr();
  n.out(0, n.make<ShapeOfOp>(n.in(0), n.b.getI64IntegerAttr(n.integer("start", 0)), end));
}

void size(Node &n) {
  Value x = n.in(0);
  if (!x)
    return;
  Value dims = n.make<ShapeOfOp>(x, n.b.getI64IntegerAttr(0), IntegerAttr());
  n.out(0, n.make<ReduceOp>(ReduceKind::prod, dims, ArrayRef<int64_t>{0}, /*keepdims=*/false));
}

void reshape(Node &n) {
  if (auto attr = n.integers("shape")) // opset < 5 form that some exporters still write
    return n.out(0, n.reshape(n.in(0), *attr));
  Value x = n.in(0), shape = n.in(1);
  if (x && shape)
    n.out(0, n.make<ReshapeOp>(x, shape, DenseI64ArrayAttr(), n.integer("allowzero", 0) != 0));
}

/// Axes as an attribute before opset 13, as an input since.
std::optional<Dims> axesOf(Node &n, int64_t rank) {
  std::optional<Dims> list = n.integers("axes");
  if (!list && n.has(1)) {
    list = n.constant(1);
    if (!list) {
      n.unsupported("axes that are not constant");
      return std::nullopt;
    }
  }
  return list ? n.axes(*list, rank) : std::nullopt;
}

void squeeze(Node &n) {
  Value x = n.in(0);
  if (!x)
    return;
  std::optional<Dims> axes = axesOf(n, Node::rank(x));
  if (!n.failed())
    n.out(0, n.make<SqueezeOp>(x, axes ? n.b.getDenseI64ArrayAttr(*axes) : DenseI64ArrayAttr()));
}

void unsqueeze(Node &n) {
  Value x = n.in(0);
  if (!x)
    return;
  int64_t count = n.integers("axes") ? n.integers("axes")->size() : n.constant(1) ? n.constant(1)->size() : 0;
  std::optional<Dims> axes = axesOf(n, Node::rank(x) + count);
  if (!axes && !n.failed())
    n.invalid("axes are missing");
  if (axes)
    n.out(0, n.unsqueeze(x, *axes));
}

/// [d0 * .. * d(axis-1), d(axis) * ..]
void flatten(Node &n) {
  Value x = n.in(0);
  if (!x)
    return;
  int64_t rank = Node::rank(x), axis = n.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return (void)n.invalid("axis " + Twine(axis) + " is outside [" + Twine(-rank) + ", " + Twine(rank) + "]");
  axis = axis < 0 ? axis + rank : axis;
  Value dims = n.make<ShapeOfOp>(x, n.b.getI64IntegerAttr(0), IntegerAttr());
  auto product = [&](int64_t begin, int64_t end) -> Value {
    if (begin == end)
      return n.ints({1});
    return n.make<ReduceOp>(ReduceKind::prod, n.slice(dims, 0, begin, end), ArrayRef<int64_t>{0}, /*keepdims=*/true);
  };
  Value shape = n.concat({product(0, axis), product(axis, rank)}, 0);
  if (shape)
    n.out(0, n.make<ReshapeOp>(x, shape, DenseI64ArrayAttr(), /*allowzero=*/true));
}

void transpose(Node &n) {
  Value x = n.in(0);
  if (!x)
    return;
  Dims perm = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(Node::rank(x))));
  if (auto given = n.integers("perm"))
    perm = *given;
  n.out(0, n.transpose(x, perm));
}

void expand(Node &n) {
  Value x = n.in(0), shape = n.in(1);
  if (x && shape)
    n.out(0, n.make<BroadcastOp>(x, shape, DenseI64ArrayAttr()));
}

/// Bounds may be int32; graph.slice takes int64.
Value bounds(Node &n, size_t i) { return n.has(i) ? n.cast(n.inputs[i], n.b.getI64Type()) : Value(); }

void sliceInputs(Node &n) {
  Value x = n.in(0), starts = bounds(n, 1), ends = bounds(n, 2), steps = bounds(n, 4);
  if (!x || !starts || !ends)
    return (void)n.invalid("starts or ends are missing");
  int64_t count = Node::type(starts).getDimSize(0);
  Dims list = llvm::to_vector(llvm::seq<int64_t>(std::max<int64_t>(count, 0)));
  if (n.has(3)) {
    std::optional<Dims> given = n.constant(3);
    if (!given)
      return (void)n.unsupported("axes that are not constant");
    list = *given;
  } else if (count == kDynamic)
    return (void)n.unsupported("number of sliced axes is not known");
  std::optional<Dims> axes = n.axes(list, Node::rank(x), /*sorted=*/false);
  if (axes)
    n.out(0, n.make<SliceOp>(x, starts, ends, steps, DenseI64ArrayAttr(), DenseI64ArrayAttr(), DenseI64ArrayAttr(),
                             n.b.getDenseI64ArrayAttr(*axes)));
}

void sliceAttributes(Node &n) { // opset < 10
  Value x = n.in(0);
  std::optional<Dims> starts = n.integers("starts"), ends = n.integers("ends");
  if (!x || !starts || !ends)
    return (void)n.invalid("starts or ends are missing");
  Dims list = n.integers("axes").value_or(llvm::to_vector(llvm::seq<int64_t>(starts->size())));
  if (auto axes = n.axes(list, Node::rank(x), false))
    n.out(0, n.make<SliceOp>(x, Value(), Value(), Value(), n.b.getDenseI64ArrayAttr(*starts), n.b.getDenseI64ArrayAttr(*ends),
                             DenseI64ArrayAttr(), n.b.getDenseI64ArrayAttr(*axes)));
}

void concat(Node &n) {
  SmallVector<Value> parts;
  for (size_t i = 0; i < n.inputCount(); ++i)
    parts.push_back(n.in(i));
  if (parts.empty() || !parts[0])
    return (void)n.invalid("needs an input");
  int64_t axis = n.axis(n.integer("axis", 0), Node::rank(parts[0]));
  if (axis >= 0)
    n.out(0, n.concat(parts, axis));
}

void split(Node &n) {
  Value x = n.in(0);
  if (!x)
    return;
  int64_t axis = n.axis(n.integer("axis", 0), Node::rank(x));
  if (axis < 0)
    return;
  std::optional<Dims> sizes = n.integers("split");
  if (!sizes && n.has(1) && !(sizes = n.constant(1)))
    return (void)n.unsupported("split sizes that are not constant");
  int64_t dim = Node::type(x).getDimSize(axis), parts = n.outputCount();
  if (!sizes) {
    if (dim == kDynamic)
      return (void)n.unsupported("equal split of a dynamic dim; give shapes with --shape or --dim");
    int64_t chunk = parts ? (dim + parts - 1) / parts : 0;
    sizes = Dims(parts, chunk);
    sizes->back() = dim - chunk * (parts - 1); // opset 18: the last part may be smaller
  }
  if (static_cast<int64_t>(sizes->size()) != parts)
    return (void)n.invalid("split into " + Twine(sizes->size()) + " sizes for " + Twine(parts) + " outputs");
  int64_t total = 0;
  for (auto [i, size] : llvm::enumerate(*sizes)) {
    n.out(i, n.slice(x, axis, total, total + size));
    total += size;
  }
  if (dim != kDynamic && total != dim)
    n.invalid("split sizes add up to " + Twine(total) + ", expected " + Twine(dim));
}

void pad(Node &n) {
  Value x = n.in(0);
  std::string mode = n.text("mode", "constant");
  if (mode != "constant")
    return (void)n.unsupported("padding mode '" + mode + "'");
  if (n.has(3))
    return (void)n.unsupported("padding of selected axes");
  if (auto pads = n.integers("pads")) { // opset < 11
    Value value = n.attr("value") ? n.scalarLike(n.number("value", 0), x) : Value();
    return n.out(0, n.make<PadOp>(x, Value(), value, n.b.getDenseI64ArrayAttr(*pads)));
  }
  Value pads = n.in(1), value = n.optional(2);
  if (x && pads)
    n.out(0, n.make<PadOp>(x, pads, value, DenseI64ArrayAttr()));
}

/// Interleaves a unit dim before each dim, broadcasts it, and merges: [d0, ..] -> [1, d0, ..] -> [r0, d0, ..] -> [r0*d0, ..].
void tile(Node &n) {
  Value x = n.in(0);
  std::optional<Dims> repeats = n.constant(1);
  if (!x || !repeats || !Node::type(x).hasStaticShape())
    return (void)n.unsupported("repeats or input shape that are not constant");
  Dims unit, wide, merged;
  for (auto [d, r] : llvm::zip_equal(Node::type(x).getShape(), *repeats)) {
    unit.append({1, d});
    wide.append({r, d});
    merged.push_back(r * d);
  }
  x = n.make<ReshapeOp>(x, Value(), n.b.getDenseI64ArrayAttr(unit), true);
  x = n.make<BroadcastOp>(x, Value(), n.b.getDenseI64ArrayAttr(wide));
  n.out(0, n.make<ReshapeOp>(x, Value(), n.b.getDenseI64ArrayAttr(merged), true));
}

const RuleRow rows[] = {
    {"", "Shape", 1, shape},           {"", "Size", 1, size},         {"", "Reshape", 1, reshape},
    {"", "Squeeze", 1, squeeze},       {"", "Unsqueeze", 1, unsqueeze}, {"", "Flatten", 1, flatten},
    {"", "Transpose", 1, transpose},   {"", "Expand", 8, expand},     {"", "Slice", 1, sliceAttributes},
    {"", "Slice", 10, sliceInputs},    {"", "Concat", 4, concat},     {"", "Split", 2, split},
    {"", "Pad", 2, pad},               {"", "Tile", 6, tile},
};

} // namespace

llvm::ArrayRef<RuleRow> gaudi::import::shapeRules() { return rows; }
