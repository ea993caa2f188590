//===- Data.cpp - constants, gathers, scatters, generators ----------------===//
#include "lib/Import/Rules.h"
#include "lib/Onnx/Proto.h"

using namespace mlir;
using namespace gaudi::graph;
using namespace gaudi::import;

namespace {

/// All attribute forms: value, value_float(s), value_int(s).
void constant(Node &n) {
  auto floats = [&](ArrayRef<float> v, bool isScalar) {
    auto type = isScalar ? RankedTensorType::get({}, n.b.getF32Type())
                         : RankedTensorType::get({static_cast<int64_t>(v.size())}, n.b.getF32Type());
    auto attr = DenseElementsAttr::get(type, v);
    n.out(0, ConstantOp::create(n.b, n.loc, type, llvm::cast<TypedAttr>(Attribute(attr))));
  };
  if (auto *a = n.attr("value"))
    return n.out(0, n.constantTensor(a->t()));
  if (auto *a = n.attr("value_float"))
    return floats({a->f()}, true);
  if (auto *a = n.attr("value_floats"))
    return floats(SmallVector<float>(a->floats().begin(), a->floats().end()), false);
  if (auto *a = n.attr("value_int"))
    return n.out(0, n.scalar(static_cast<double>(a->i()), n.b.getI64Type()));
  if (auto ints = n.integers("value_ints"))
    return n.out(0, n.ints(*ints));
  n.unsupported("constant of this kind");
}

void constantOfShape(Node &n) {
  Value shape = n.in(0);
  TypedAttr value = DenseElementsAttr::get(RankedTensorType::get({1}, n.b.getF32Type()), 0.0f);
  if (auto *a = n.attr("value"))
    if (Value literal = n.constantTensor(a->t()))
      value = literal.getDefiningOp<ConstantOp>().getValueAttr();
  n.out(0, n.make<FillOp>(shape, value));
}

void range(Node &n) {
  auto scalar = [&](size_t i) -> Value { // rank 1 with one element is common
    Value v = n.in(i);
    return v && Node::rank(v) == 1 ? n.squeeze(v, {0}) : v;
  };
  n.out(0, n.make<RangeOp>(scalar(0), scalar(1), scalar(2)));
}

template <typename OpT> void gatherLike(Node &n) {
  Value data = n.in(0), indices = n.in(1);
  if (!data || !indices)
    return;
  int64_t axis = n.axis(n.integer("axis", 0), Node::rank(data));
  if (axis >= 0)
    n.out(0, n.make<OpT>(data, indices, n.b.getI64IntegerAttr(axis)));
}

void gatherND(Node &n) { n.out(0, n.make<GatherNDOp>(n.in(0), n.in(1), n.b.getI64IntegerAttr(n.integer("batch_dims", 0)))); }

void scatterND(Node &n) {
  std::string reduction = n.text("reduction", "none");
  if (reduction != "none")
    return (void)n.unsupported("reduction '" + reduction + "'");
  n.out(0, n.make<ScatterNDOp>(n.in(0), n.in(1), n.in(2)));
}

void trilu(Node &n) {
  std::optional<Dims> k = n.has(1) ? n.constant(1) : Dims{0};
  if (!k || k->size() != 1)
    return (void)n.unsupported("k that is not constant");
  n.out(0, n.make<TriluOp>(n.in(0), k->front(), n.integer("upper", 1) != 0));
}

void cumsum(Node &n) {
  std::optional<Dims> axis = n.constant(1);
  Value x = n.in(0);
  if (!axis || axis->size() != 1 || !x)
    return (void)n.unsupported("axis that is not constant");
  int64_t normal = n.axis(axis->front(), Node::rank(x));
  if (normal >= 0)
    n.out(0, n.make<CumSumOp>(x, normal, n.integer("exclusive", 0) != 0, n.integer("reverse", 0) != 0));
}

const RuleRow rows[] = {
    {"", "Constant", 1, constant},
    {"", "ConstantOfShape", 9, constantOfShape},
    {"", "Range", 11, range},
    {"", "Gather", 1, gatherLike<GatherOp>},
    {"", "GatherElements", 11, gatherLike<GatherElementsOp>},
    {"", "GatherND", 11, gatherND},
    {"", "ScatterND", 11, scatterND},
    {"", "Trilu", 14, trilu},
    {"", "CumSum", 11, cumsum},
};

} // namespace

llvm::ArrayRef<RuleRow> gaudi::import::dataRules() { return rows; }
