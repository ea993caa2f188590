//===- Data.cpp - constants, generators, gathers and scatters -------------===//
#include "lib/Import/Importer.h"
#include "lib/Import/Rules.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::import {

/// Constant-1 (value), -12 (value_int, value_floats ...), -11 (sparse_value: unsupported).
static void importConstant(Node &node) {
  Builder &b = node.builder();
  std::string name = node.proto.output_size() ? node.proto.output(0) : "";
  if (const auto *attribute = node.attribute("value")) {
    if (!attribute->has_t())
      return node.invalid("attribute 'value' is not a tensor");
    if (const auto &type = node.importer.model.literal(attribute->t()).unsupportedType; !type.empty())
      return node.unsupported("type " + Twine(type) + " unsupported");
    return node.result(node.importer.literal(attribute->t(), name, node.loc));
  }
  if (node.attribute("value_float"))
    return node.result(node.scalarOf(node.real("value_float", 0), b.getF32Type()));
  if (node.attribute("value_int")) {
    auto type = RankedTensorType::get({}, b.getI64Type());
    return node.result(node.constant(DenseElementsAttr::get(type, node.integer("value_int", 0))));
  }
  if (auto values = node.integers("value_ints"))
    return node.result(node.ints(*values));
  if (const auto *attribute = node.attribute("value_floats")) {
    auto type = RankedTensorType::get({attribute->floats_size()}, b.getF32Type());
    ArrayRef<float> values(attribute->floats().data(), static_cast<size_t>(attribute->floats_size()));
    return node.result(node.constant(DenseElementsAttr::get(type, values)));
  }
  if (node.attribute("value_string") || node.attribute("value_strings"))
    return node.unsupported("type tensor(string) unsupported");
  if (node.attribute("sparse_value"))
    return node.unsupported("type sparse_tensor unsupported");
  node.invalid("has no value");
}

/// ConstantOfShape-9: the value is a tensor of one element, f32 zero by default.
static void importConstantOfShape(Node &node) {
  Builder &b = node.builder();
  auto scalarType = RankedTensorType::get({1}, b.getF32Type());
  DenseElementsAttr value = DenseElementsAttr::get(scalarType, 0.0f);
  if (const auto *attribute = node.attribute("value")) {
    const TensorLiteral &literal = node.importer.model.literal(attribute->t());
    if (!literal.unsupportedType.empty())
      return node.unsupported("type " + Twine(literal.unsupportedType) + " unsupported");
    auto made = node.importer.literal(attribute->t(), "value", node.loc).getDefiningOp<ConstantOp>();
    value = dyn_cast<DenseElementsAttr>(made.getValue());
    made.erase();
    if (!value || value.getNumElements() != 1)
      return node.invalid("attribute 'value' must have one element");
  }
  Value shape = node.cast(node.input(0), b.getI64Type());
  // Known shapes become static types here, or later rules would find neither ranks nor lengths.
  auto known = node.knownInts(shape);
  if (!known)
    return node.result(node.make<FillOp>(shape, cast<TypedAttr>(value)));
  if (llvm::any_of(*known, [](int64_t d) { return d < 0; }) || !ShapedType::isStaticShape(*known))
    return node.invalid("shape has a negative dim");
  node.result(node.constant(value.resizeSplat(RankedTensorType::get(*known, value.getElementType()))));
}

/// Range-11 wants scalars; exporters also write one-element vectors.
static void importRange(Node &node) {
  auto scalar = [&](int i) {
    Value x = node.input(i);
    // As constants, so that the length follows. Integers only: a double may not be exactly the float it came from.
    if (auto known = node.knownInts(x); known && known->size() == 1)
      return node.scalar(static_cast<double>(known->front()), x);
    return node.rank(x) == 0 ? x : node.reshape(x, {});
  };
  node.result(node.make<RangeOp>(scalar(0), scalar(1), scalar(2)));
}

static void importGather(Node &node) {
  Value data = node.input(0);
  int64_t axis = node.normalized(node.integer("axis", 0), node.rank(data));
  node.result(node.make<GatherOp>(data, node.input(1), axis));
}

static void importGatherElements(Node &node) {
  Value data = node.input(0);
  int64_t axis = node.normalized(node.integer("axis", 0), node.rank(data));
  node.result(node.make<GatherElementsOp>(data, node.input(1), axis));
}

/// GatherND-11, -12 (batch_dims).
static void importGatherND(Node &node) {
  node.result(node.make<GatherNDOp>(node.input(0), node.input(1), node.integer("batch_dims", 0)));
}

/// ScatterND-11, -16 (reduction add, mul), -18 (max, min).
static void importScatterND(Node &node) {
  std::string reduction = node.string("reduction", "none");
  if (reduction != "none")
    return node.unsupported("reduction '" + Twine(reduction) + "' is not supported");
  node.result(node.make<ScatterNDOp>(node.input(0), node.input(1), node.input(2)));
}

/// Trilu-14.
static void importTrilu(Node &node) {
  int64_t k = 0;
  if (node.has(1)) {
    auto values = node.requireInts(1, "k");
    if (!node.failed() && values.size() != 1)
      return node.invalid("k has " + Twine(values.size()) + " values, expected 1");
    k = values.empty() ? 0 : values.front();
  }
  node.result(node.make<TriluOp>(node.input(0), k, node.integer("upper", 1) != 0));
}

/// CumSum-11, -14.
static void importCumSum(Node &node) {
  auto axis = node.requireInts(1, "axis");
  if (!node.failed() && axis.size() != 1)
    return node.invalid("axis has " + Twine(axis.size()) + " values, expected 1");
  Value x = node.input(0);
  int64_t normalized = node.normalized(axis.empty() ? 0 : axis.front(), node.rank(x));
  node.result(node.make<CumSumOp>(x, normalized, node.integer("exclusive", 0) != 0, node.integer("reverse", 0) != 0));
}

ArrayRef<Rule> dataRules() {
  static const Rule rules[] = {
      {"", "Constant", 1, importConstant, 0, "no strings, no sparse tensors"},
      {"", "ConstantOfShape", 9, importConstantOfShape},
      {"", "Range", 11, importRange},
      {"", "Gather", 1, importGather},
      {"", "GatherElements", 11, importGatherElements},
      {"", "GatherND", 11, importGatherND},
      {"", "ScatterND", 11, importScatterND, 0, "reduction none"},
      {"", "Trilu", 14, importTrilu, 0, "k must be constant"},
      {"", "CumSum", 11, importCumSum, 0, "axis must be constant"},
  };
  return rules;
}

} // namespace gaudi::import
