//===- Slice.cpp - parts of tensors and their reverse ---------------------===//
#include "lib/Import/Rules.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::import {

static void importConcat(Node &node) {
  if (node.inputCount() == 0)
    return node.invalid("has no inputs");
  Value first = node.input(0);
  if (!node.attribute("axis"))
    return node.invalid("attribute 'axis' is missing");
  node.result(node.concat(node.inputs(), node.normalized(node.integer("axis", 0), node.rank(first))));
}

/// A bound of Slice-10: an attribute when known, an operand otherwise.
namespace {
struct Bound {
  Value operand;
  DenseI64ArrayAttr known;
};
} // namespace

static Bound sliceBound(Node &node, int input) {
  Value value = node.cast(node.input(input), node.builder().getI64Type());
  if (auto known = node.knownArray(value))
    return {Value(), known};
  return {value, {}};
}

static int64_t lengthOf(Node &node, const Bound &bound) {
  return bound.known ? bound.known.size() : node.dim(bound.operand, 0);
}

/// Slice-1: bounds and axes are attributes.
static void importSliceAttributes(Node &node) {
  Value x = node.input(0);
  auto starts = node.integers("starts"), ends = node.integers("ends");
  if (!starts || !ends)
    return node.invalid("starts or ends are missing");
  SmallVector<int64_t> axes(starts->size()), steps(starts->size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.normalized(node.integers("axes").value_or(axes), node.rank(x));
  Builder &b = node.builder();
  node.result(node.make<SliceOp>(x, Value(), Value(), Value(), b.getDenseI64ArrayAttr(*starts),
                                 b.getDenseI64ArrayAttr(*ends), b.getDenseI64ArrayAttr(steps),
                                 b.getDenseI64ArrayAttr(axes)));
}

/// Slice-10..13: inputs data, starts, ends, axes (optional), steps (optional). Bounds may be computed, axes not.
static void importSlice(Node &node) {
  Value x = node.input(0);
  Bound starts = sliceBound(node, 1), ends = sliceBound(node, 2);
  int64_t count = lengthOf(node, starts);
  if (ShapedType::isDynamic(count))
    return node.unsupported("the number of sliced axes is not known");
  SmallVector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has(3))
    axes = node.requireInts(3, "axes");
  axes = node.normalized(axes, node.rank(x));
  Bound steps{Value(), node.builder().getDenseI64ArrayAttr(SmallVector<int64_t>(count, 1))};
  if (node.has(4))
    steps = sliceBound(node, 4);
  node.result(node.make<SliceOp>(x, starts.operand, ends.operand, steps.operand, starts.known, ends.known, steps.known,
                                 node.builder().getDenseI64ArrayAttr(axes)));
}

/// Lengths of the parts: given, or equal with a shorter last one (num_outputs of Split-18).
static SmallVector<int64_t> splitLengths(Node &node, int64_t total) {
  if (auto lengths = node.intsFromAttributeOrInput("split", 1))
    return *lengths;
  int64_t parts = node.integer("num_outputs", node.proto.output_size());
  if (ShapedType::isDynamic(total)) {
    node.unsupported("the split axis has no known length; give the input shapes with --shape");
    return {};
  }
  if (parts < 1 || (node.opset < 18 && total % parts)) {
    node.invalid("cannot split " + Twine(total) + " into " + Twine(parts) + " equal parts");
    return {};
  }
  int64_t length = (total + parts - 1) / parts;
  SmallVector<int64_t> lengths(parts, length);
  lengths.back() = total - length * (parts - 1);
  return lengths;
}

static void importSplit(Node &node) {
  Value x = node.input(0);
  int64_t axis = node.normalized(node.integer("axis", 0), node.rank(x)), total = node.dim(x, axis);
  SmallVector<int64_t> lengths = splitLengths(node, total);
  if (node.failed())
    return;
  if (static_cast<int>(lengths.size()) != node.proto.output_size())
    return node.invalid("has " + Twine(lengths.size()) + " parts for " + Twine(node.proto.output_size()) + " outputs");
  int64_t sum = 0;
  for (int64_t length : lengths)
    if (length < 0 || llvm::AddOverflow(sum, length, sum))
      return node.invalid("bad part length " + Twine(length));
  if (!ShapedType::isDynamic(total) && sum != total)
    return node.invalid("parts add up to " + Twine(sum) + ", the axis has " + Twine(total));
  int64_t start = 0;
  for (auto [i, length] : llvm::enumerate(lengths)) {
    node.result(static_cast<int>(i), node.slice(x, axis, start, start + length));
    start += length;
  }
}

/// `pads` for some axes -> for all, [begins..., ends...].
static SmallVector<int64_t> spreadPads(Node &node, ArrayRef<int64_t> pads, ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> all(2 * rank, 0);
  if (pads.size() != 2 * axes.size()) {
    node.invalid("pads has " + Twine(pads.size()) + " values for " + Twine(axes.size()) + " axes");
    return all;
  }
  for (auto [i, axis] : llvm::enumerate(axes)) {
    all[axis] = pads[i];
    all[rank + axis] = pads[i + axes.size()];
  }
  return all;
}

/// Pad-2 (attributes), -11 (inputs pads, constant_value), -18 (axes).
static void importPad(Node &node) {
  std::string mode = node.string("mode", "constant");
  if (mode != "constant")
    return node.unsupported("mode '" + Twine(mode) + "' is not supported");
  Value x = node.input(0), fill;
  if (node.has(2))
    fill = node.rank(node.input(2)) == 0 ? node.input(2) : node.reshape(node.input(2), {});
  else if (node.attribute("value"))
    fill = node.scalar(node.real("value", 0), x);
  auto pads = node.integers("pads");
  if (!pads) {
    Value operand = node.cast(node.input(1), node.builder().getI64Type());
    pads = node.knownInts(operand);
    if (!pads && node.has(3))
      return node.unsupported("pads of some axes are computed at run time");
    if (!pads)
      return node.result(node.make<PadOp>(x, operand, fill, DenseI64ArrayAttr()));
  }
  if (node.has(3))
    pads = spreadPads(node, *pads, node.normalized(node.requireInts(3, "axes"), node.rank(x)), node.rank(x));
  node.result(node.make<PadOp>(x, Value(), fill, node.builder().getDenseI64ArrayAttr(*pads)));
}

ArrayRef<Rule> sliceRules() {
  static const Rule rules[] = {
      {"", "Concat", 4, importConcat},
      {"", "Slice", 1, importSliceAttributes},
      {"", "Slice", 10, importSlice, 0, "axes must be constant"},
      {"", "Split", 2, importSplit},
      {"", "Pad", 2, importPad, 0, "mode constant; axes must be constant"},
  };
  return rules;
}

} // namespace gaudi::import
