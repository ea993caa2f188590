//===- Match.cpp - questions that several passes ask about values ---------===//
#include "lib/Transforms/Match.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

uint64_t byteSize(RankedTensorType type) {
  return static_cast<uint64_t>(type.getNumElements()) * ((type.getElementTypeBitWidth() + 7) / 8);
}

std::optional<double> scalarOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!dense || !dense.isSplat())
    return std::nullopt;
  if (isa<FloatType>(dense.getElementType())) {
    APFloat number = dense.getSplatValue<APFloat>();
    bool losesInfo;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return number.convertToDouble();
  }
  APInt number = dense.getSplatValue<APInt>();
  bool isUnsigned = dense.getElementType().isUnsignedInteger() || number.getBitWidth() == 1;
  return isUnsigned ? static_cast<double>(number.getZExtValue()) : static_cast<double>(number.getSExtValue());
}

bool isScalar(Value value, double expected) {
  std::optional<double> found = scalarOf(value);
  return found && *found == expected;
}

Value unaryInput(Value value, UnaryKind kind) {
  auto op = value.getDefiningOp<UnaryOp>();
  return op && op.getKind() == kind ? op.getInput() : Value();
}

BinaryOp binaryOf(Value value, BinaryKind kind) {
  auto op = value.getDefiningOp<BinaryOp>();
  return op && op.getKind() == kind ? op : BinaryOp();
}

WithScalar withScalar(Value value, BinaryKind kind) {
  BinaryOp op = binaryOf(value, kind);
  if (!op)
    return {};
  if (std::optional<double> c = scalarOf(op.getRhs()); c && sameShape(op.getLhs(), value))
    return {op.getLhs(), *c};
  bool commutes = kind == BinaryKind::add || kind == BinaryKind::mul;
  if (std::optional<double> c = scalarOf(op.getLhs()); commutes && c && sameShape(op.getRhs(), value))
    return {op.getRhs(), *c};
  return {};
}

WithScalar scaled(Value value) {
  if (WithScalar product = withScalar(value, BinaryKind::mul))
    return product;
  WithScalar quotient = withScalar(value, BinaryKind::div);
  if (!quotient || quotient.c == 0 || !isa<FloatType>(elementOf(value)))
    return {};
  return {quotient.x, 1 / quotient.c};
}

bool nearly(double found, double expected, Type type) {
  // bf16 has 8 significant bits, f16 11; 1e-4 admits constants written with five digits (0.7071, 1.41421).
  // Who computes in f64 gets the constants that the model has.
  double tolerance = type.isBF16() ? 8e-3 : type.isF16() ? 1e-3 : type.isF64() ? 1e-14 : 1e-4;
  return std::abs(found - expected) <= tolerance * std::abs(expected);
}

namespace {

/// Exports nest at most half a dozen products; the cap keeps shared subtrees from blowing up.
constexpr unsigned kMaxFactors = 8;

bool addFactors(Value value, Value stop, Product &product) {
  if (product.factors.size() > kMaxFactors)
    return false;
  if (value == stop) {
    product.factors.push_back(value);
    return true;
  }
  if (std::optional<double> c = scalarOf(value)) {
    product.scale *= *c;
    return true;
  }
  if (WithScalar part = scaled(value)) {
    product.scale *= part.c;
    return addFactors(part.x, stop, product);
  }
  if (BinaryOp mul = binaryOf(value, BinaryKind::mul))
    return addFactors(mul.getLhs(), stop, product) && addFactors(mul.getRhs(), stop, product);
  WithScalar power = withScalar(value, BinaryKind::pow);
  if (power && (power.c == 2 || power.c == 3)) {
    for (int i = 0; i < power.c; ++i)
      if (!addFactors(power.x, stop, product))
        return false;
    return true;
  }
  product.factors.push_back(value);
  return true;
}

} // namespace

Product productOf(Value value, Value stop) {
  Product product;
  if (!addFactors(value, stop, product))
    return {1, {value}};
  return product;
}

std::optional<int64_t> trailingAxes(ArrayRef<int64_t> axes, int64_t rank) {
  int64_t first = rank - static_cast<int64_t>(axes.size());
  if (axes.empty() || !llvm::equal(axes, llvm::seq<int64_t>(first, rank)))
    return std::nullopt;
  return first;
}

bool isElementwise(Operation *op) { return isa_and_present<UnaryOp, BinaryOp, SelectOp, CastOp>(op); }

bool broadcastsTo(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  if (from.size() > to.size())
    return false;
  return llvm::all_of(llvm::zip(from, to.take_back(from.size())), [](auto pair) {
    auto [f, t] = pair;
    return f == 1 || (f == t && !ShapedType::isDynamic(f));
  });
}

Location fusedLocation(Operation *op, ArrayRef<Value> others) {
  SmallVector<Location> locations;
  for (Value value : others)
    if (value && value.getDefiningOp())
      locations.push_back(value.getLoc());
  locations.push_back(op->getLoc());
  return FusedLoc::get(op->getContext(), locations);
}

namespace {
struct NameKeeper : RewriterBase::Listener {
  using Listener::notifyOperationReplaced;
  void notifyOperationReplaced(Operation *op, ValueRange values) override { passOnValueName(op, values); }
};
} // namespace

bool rewriteGreedily(Operation *root, RewritePatternSet &&patterns) {
  GreedyRewriteConfig config;
  config.setMaxIterations(10);
  NameKeeper names;
  config.setListener(&names);
  return succeeded(applyPatternsGreedily(root, std::move(patterns), config));
}

} // namespace gaudi::transforms
