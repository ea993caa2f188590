//===- Infer.cpp - helpers of shape inference -----------------------------===//
#include "dialects/graph/Infer.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

std::string graph::dimsText(ArrayRef<int64_t> dims) {
  auto text = llvm::map_range(dims, [](int64_t d) { return d == kDynamic ? std::string("?") : std::to_string(d); });
  return dims.empty() ? "scalar" : llvm::join(text, "x");
}

std::optional<Dims> graph::constantInts(Value value) {
  DenseIntElementsAttr elements;
  if (!value || !matchPattern(value, m_Constant(&elements)))
    return std::nullopt;
  constexpr int64_t limit = 1 << 16; // shapes and indices, never data
  if (elements.getNumElements() > limit)
    return std::nullopt;
  bool isUnsigned = elements.getElementType().isUnsignedInteger() || elements.getElementType().isInteger(1);
  Dims values;
  for (APInt v : elements.getValues<APInt>())
    values.push_back(isUnsigned ? static_cast<int64_t>(v.getZExtValue()) : v.getSExtValue());
  return values;
}

std::string graph::listText(ArrayRef<int64_t> values) {
  return "[" + llvm::join(llvm::map_range(values, [](int64_t v) { return std::to_string(v); }), ", ") + "]";
}

/// Product of the non-zero static dims: what strides can reach even when another dim is zero.
static std::optional<int64_t> spanOf(ArrayRef<int64_t> dims) {
  int64_t span = 1;
  for (int64_t d : dims)
    if (d != 0 && d != kDynamic && (llvm::MulOverflow(span, d, span) || span > kMaxElements))
      return std::nullopt;
  return span;
}

std::optional<int64_t> graph::elementCount(ArrayRef<int64_t> dims) {
  if (llvm::is_contained(dims, kDynamic))
    return std::nullopt;
  std::optional<int64_t> span = spanOf(dims);
  return span && llvm::is_contained(dims, 0) ? 0 : span;
}

LogicalResult graph::checkDims(OptionalLoc loc, ArrayRef<int64_t> dims) {
  for (auto [i, d] : llvm::enumerate(dims))
    if (d < 0 && d != kDynamic)
      return emitOptionalError(loc, "dim ", i, " is negative (", d, ")");
  if (!spanOf(dims))
    return emitOptionalError(loc, "shape ", dimsText(dims), " has more than 2^59 elements");
  return success();
}

LogicalResult graph::addResult(OptionalLoc loc, ArrayRef<int64_t> dims, Type element, SmallVectorImpl<Type> &results) {
  if (failed(checkDims(loc, dims)))
    return failure();
  results.push_back(RankedTensorType::get(dims, element));
  return success();
}

LogicalResult graph::broadcastDims(OptionalLoc loc, ArrayRef<int64_t> a, ArrayRef<int64_t> b, Dims &out) {
  size_t rank = std::max(a.size(), b.size());
  out.assign(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    int64_t y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (x == y || y == 1)
      out[i] = x;
    else if (x == 1)
      out[i] = y;
    else if (x == kDynamic || y == kDynamic)
      out[i] = x == kDynamic ? y : x; // the known side is > 1: the other must equal it or be 1
    else
      return emitOptionalError(loc, "shapes ", dimsText(a), " and ", dimsText(b), " do not broadcast (", x, " vs ", y,
                               " at dim ", i, ")");
  }
  return success();
}

LogicalResult graph::checkBroadcastsTo(OptionalLoc loc, StringRef what, ArrayRef<int64_t> shape,
                                       ArrayRef<int64_t> target) {
  bool fits = shape.size() <= target.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    int64_t d = shape[shape.size() - 1 - i];
    fits = d == 1 || !differ(d, target[target.size() - 1 - i]);
  }
  if (fits)
    return success();
  return emitOptionalError(loc, what, " of shape ", dimsText(shape), " does not broadcast to ", dimsText(target));
}

LogicalResult graph::checkAxis(OptionalLoc loc, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return emitOptionalError(loc, "axis ", axis, " is outside [0, ", rank, ")");
}

std::optional<Dims> graph::attrOrConstant(std::optional<ArrayRef<int64_t>> attr, Value operand) {
  if (attr)
    return Dims(*attr);
  return constantInts(operand);
}

LogicalResult graph::checkEither(OptionalLoc loc, StringRef what, Value operand, bool hasAttr) {
  if (bool(operand) != hasAttr)
    return success();
  return emitOptionalError(loc, "needs either the ", what, " operand or the ", what, " attribute, has ",
                           hasAttr ? "both" : "none");
}

FailureOr<Dims> graph::wantedShape(OptionalLoc loc, std::optional<ArrayRef<int64_t>> attr, Value operand) {
  if (std::optional<Dims> known = attrOrConstant(attr, operand))
    return *known;
  int64_t rank = dimsOf(operand)[0];
  if (rank == kDynamic)
    return emitOptionalError(loc, "rank of the result is not known: shape operand is ", operand.getType());
  return Dims(rank, kDynamic);
}
