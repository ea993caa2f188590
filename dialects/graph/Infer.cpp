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

std::optional<int64_t> graph::elementCount(ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t d : dims)
    if (d == kDynamic || llvm::MulOverflow(count, d, count) || count > (int64_t(1) << 62))
      return std::nullopt;
  return count;
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
