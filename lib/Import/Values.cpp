//===- Values.cpp - names, literals and early evaluation ------------------===//
#include "lib/Import/Importer.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace gaudi::import {

Value Importer::lookup(Frame &frame, StringRef name, bool &known) {
  for (Frame *at = &frame; at; at = at->parent) {
    if (auto found = at->values.find(name); found != at->values.end()) {
      known = true;
      return found->second;
    }
    if (auto found = at->initializers.find(name); found != at->initializers.end()) {
      known = true;
      auto loc = NameLoc::get(StringAttr::get(&context, name));
      return at->values[name] = literal(*found->second, name, loc);
    }
  }
  known = false;
  return {};
}

/// Dense up to kDenseLimitBytes, a reference above it.
static TypedAttr literalAttr(const TensorLiteral &literal, StringRef name, RankedTensorType type) {
  if (literal.bytes.size() > kDenseLimitBytes && literal.ref)
    return graph::WeightAttr::get(type.getContext(), type, name, literal.ref->file, literal.ref->offset,
                                  literal.ref->length);
  ArrayRef<char> raw(reinterpret_cast<const char *>(literal.bytes.data()), literal.bytes.size());
  if (type.getNumElements() == 0)
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  if (literal.dtype == DType::Bool) {
    SmallVector<bool> flags(raw.begin(), raw.end());
    return DenseElementsAttr::get(type, flags);
  }
  return DenseElementsAttr::getFromRawBuffer(type, raw);
}

Value Importer::literal(const ::onnx::TensorProto &tensor, StringRef name, Location loc) {
  const TensorLiteral &literal = model.literal(tensor);
  if (!literal.unsupportedType.empty())
    return {};
  auto type = RankedTensorType::get(literal.shape, elementTypeOf(&context, literal.dtype));
  return graph::ConstantOp::create(builder, loc, type, literalAttr(literal, name, type));
}

/// Dims of a shape_of with a static operand, without evaluating the operand.
static std::optional<graph::HostTensor> staticShape(graph::ShapeOfOp op) {
  SmallVector<OpFoldResult> folded;
  SmallVector<Attribute> none(op->getNumOperands());
  if (failed(op->fold(none, folded)) || folded.size() != 1)
    return std::nullopt;
  auto elements = dyn_cast_or_null<DenseElementsAttr>(dyn_cast<Attribute>(folded.front()));
  return elements ? std::optional(graph::HostTensor::fromElements(elements)) : std::nullopt;
}

/// Recursive on purpose shallow: shape chains of exporters are some ten ops deep, and what is not found here is left to
/// the folding passes.
std::optional<graph::HostTensor> Importer::evaluate(Value value, int depth) {
  constexpr int maxDepth = 64;
  constexpr int64_t maxElements = kDenseLimitBytes / sizeof(int64_t);
  auto type = cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op || depth > maxDepth || (type.hasStaticShape() && type.getNumElements() > maxElements))
    return std::nullopt;
  if (auto found = evaluated.find(value); found != evaluated.end())
    return found->second;

  auto compute = [&]() -> std::optional<graph::HostTensor> {
    if (auto shape = dyn_cast<graph::ShapeOfOp>(op))
      return staticShape(shape);
    if (isa<graph::ConstantOp>(op))
      return graph::constantValue(value);
    auto evaluable = dyn_cast<graph::GraphOpInterface>(op);
    if (!evaluable || !type.hasStaticShape())
      return std::nullopt;
    SmallVector<graph::HostTensor> operands, results;
    for (Value operand : op->getOperands()) {
      auto known = evaluate(operand, depth + 1);
      if (!known)
        return std::nullopt;
      operands.push_back(std::move(*known));
    }
    // An invalid value (index out of range) is reported by the pass that folds the op for good.
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
    if (failed(evaluable.evaluate(operands, results)) || results.empty())
      return std::nullopt;
    return results.front();
  };
  auto result = compute();
  evaluated[value] = result;
  return result;
}

} // namespace gaudi::import
