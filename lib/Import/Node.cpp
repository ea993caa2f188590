//===- Node.cpp - one ONNX node while it is translated --------------------===//
#include "lib/Import/Node.h"
#include "lib/Import/Importer.h"
#include "runtime/base/Text.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace gaudi::import {

Node::Node(Importer &importer, Frame &frame, const ::onnx::NodeProto &proto, int index, int64_t opset, Location loc)
    : proto(proto), opset(opset), loc(loc), importer(importer), frame(frame), index(index) {}

std::string Node::describe() const {
  std::string domain(canonicalDomain(proto.domain()));
  std::string op = domain.empty() ? proto.op_type() : domain + "::" + proto.op_type();
  if (proto.name().empty() && frame.prefix.empty())
    return cat("node #", index, " (", op, ", opset ", opset, ")");
  std::string name = frame.prefix + (proto.name().empty() ? cat("#", index) : proto.name());
  return cat("node ", quoted(name), " (", op, ", opset ", opset, ")");
}

void Node::invalid(const Twine &what, const Twine &hint) {
  if (!hasFailed)
    importer.fail(StatusCode::InvalidInput, describe() + ": " + what.str(), hint.str());
  hasFailed = true;
}

void Node::unsupported(const Twine &reason) {
  if (!hasFailed)
    importer.addUnsupported(*this, reason.str(), /*unknownOp=*/false);
  hasFailed = true;
}

void Node::overLimit(const Twine &what) {
  if (!hasFailed)
    importer.fail(StatusCode::ResourceLimit, describe() + ": " + what.str());
  hasFailed = true;
}

bool Node::has(int i) const { return i < inputCount() && !proto.input(i).empty() && !frame.isOmitted(proto.input(i)); }

Value Node::input(int i, bool required) {
  if (!has(i)) {
    if (required)
      invalid("input " + Twine(i) + " is missing");
    return {};
  }
  bool known;
  return importer.lookup(frame, proto.input(i), known); // the reader has checked that the name is defined
}

SmallVector<Value> Node::inputs() {
  SmallVector<Value> values;
  for (int i = 0; i < inputCount(); ++i)
    if (Value value = input(i))
      values.push_back(value);
  return values;
}

void Node::result(int i, Value value) {
  if (hasFailed || !wants(i))
    return;
  frame.values[proto.output(i)] = value;
  // An op of this node's own that computes the output, and nothing else, is known by the output's name from here on.
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (op && op->getNumResults() == 1 && op->getLoc() == loc)
    op->setLoc(graph::withValueName(loc, frame.prefix + proto.output(i)));
}

const ::onnx::AttributeProto *Node::attribute(StringRef name) {
  for (const auto &attribute : proto.attribute()) {
    if (attribute.name() != name)
      continue;
    if (attribute.ref_attr_name().empty())
      return &attribute;
    return frame.bindings.lookup(attribute.ref_attr_name());
  }
  return nullptr;
}

/// Old files leave `type` out; the field in use tells it then.
static bool hasType(const ::onnx::AttributeProto &attribute, ::onnx::AttributeProto::AttributeType type) {
  return !attribute.has_type() || attribute.type() == ::onnx::AttributeProto::UNDEFINED || attribute.type() == type;
}

int64_t Node::integer(StringRef name, int64_t otherwise) {
  const auto *found = attribute(name);
  if (!found)
    return otherwise;
  if (!hasType(*found, ::onnx::AttributeProto::INT))
    invalid("attribute '" + name + "' is not an integer");
  return found->i();
}

double Node::real(StringRef name, double otherwise) {
  const auto *found = attribute(name);
  if (!found)
    return otherwise;
  if (!hasType(*found, ::onnx::AttributeProto::FLOAT))
    invalid("attribute '" + name + "' is not a float");
  return found->f();
}

std::string Node::string(StringRef name, StringRef otherwise) {
  const auto *found = attribute(name);
  if (!found)
    return otherwise.str();
  if (!hasType(*found, ::onnx::AttributeProto::STRING))
    invalid("attribute '" + name + "' is not a string");
  return found->s();
}

std::optional<SmallVector<int64_t>> Node::integers(StringRef name) {
  const auto *found = attribute(name);
  if (!found)
    return std::nullopt;
  if (!hasType(*found, ::onnx::AttributeProto::INTS))
    invalid("attribute '" + name + "' is not a list of integers");
  return SmallVector<int64_t>(found->ints().begin(), found->ints().end());
}

int64_t Node::rank(Value value) const { return value ? cast<RankedTensorType>(value.getType()).getRank() : 0; }

int64_t Node::dim(Value value, int64_t i) const {
  return i >= 0 && i < rank(value) ? cast<RankedTensorType>(value.getType()).getDimSize(i) : ShapedType::kDynamic;
}

Type Node::elementType(Value value) const {
  return value ? cast<RankedTensorType>(value.getType()).getElementType() : Float32Type::get(loc.getContext());
}

int64_t Node::normalized(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  invalid("axis " + Twine(axis) + " is outside [" + Twine(-rank) + ", " + Twine(rank) + ")");
  return 0;
}

SmallVector<int64_t> Node::normalized(ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes)
    result.push_back(normalized(axis, rank));
  return result;
}

std::optional<SmallVector<int64_t>> Node::knownInts(Value value) {
  auto known = value ? importer.evaluate(value) : std::nullopt;
  if (!known || known->isFloat())
    return std::nullopt;
  return SmallVector<int64_t>(known->ints().begin(), known->ints().end());
}

std::optional<double> Node::knownScalar(Value value) {
  auto known = value ? importer.evaluate(value) : std::nullopt;
  if (!known || known->elementCount() != 1)
    return std::nullopt;
  return known->asDouble(0);
}

SmallVector<int64_t> Node::requireInts(int i, StringRef what) {
  Value value = input(i);
  auto known = knownInts(value);
  if (!known && !hasFailed)
    unsupported("'" + what + "' " +
                (isa<BlockArgument>(value) ? "is an input of the model; it must be a constant"
                                           : "is computed at run time; give the input shapes with --shape"));
  return known.value_or(SmallVector<int64_t>{});
}

std::optional<SmallVector<int64_t>> Node::intsFromAttributeOrInput(StringRef name, int inputIndex) {
  if (auto list = integers(name))
    return list;
  if (has(inputIndex))
    return requireInts(inputIndex, name);
  return std::nullopt;
}

DenseI64ArrayAttr Node::knownArray(Value value) {
  auto known = knownInts(value);
  return known ? builder().getDenseI64ArrayAttr(*known) : DenseI64ArrayAttr();
}

Value Node::cast(Value x, Type type) {
  if (!x || elementType(x) == type)
    return x;
  return make<graph::CastOp>(x, type);
}

Value Node::scalarOf(double value, Type type) {
  auto tensor = RankedTensorType::get({}, type);
  if (isa<FloatType>(type))
    return constant(DenseElementsAttr::get(tensor, Attribute(builder().getFloatAttr(type, value))));
  APInt bits(type.getIntOrFloatBitWidth(), static_cast<uint64_t>(static_cast<int64_t>(value)), true, true);
  return constant(DenseElementsAttr::get(tensor, bits));
}

Value Node::scalar(double value, Value like) { return scalarOf(value, elementType(like)); }

Value Node::ints(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, builder().getI64Type());
  return constant(DenseElementsAttr::get(type, values));
}

Value Node::reduce(graph::ReduceKind kind, Value x, ArrayRef<int64_t> axes, bool keepdims) {
  return make<graph::ReduceOp>(kind, x, axes, keepdims);
}
Value Node::transpose(Value x, ArrayRef<int64_t> permutation) { return make<graph::TransposeOp>(x, permutation); }
Value Node::unsqueeze(Value x, ArrayRef<int64_t> axes) { return make<graph::UnsqueezeOp>(x, axes); }
Value Node::squeeze(Value x, ArrayRef<int64_t> axes) {
  return make<graph::SqueezeOp>(x, builder().getDenseI64ArrayAttr(axes));
}
Value Node::reshape(Value x, ArrayRef<int64_t> shape) {
  return make<graph::ReshapeOp>(x, Value(), builder().getDenseI64ArrayAttr(shape), false);
}

/// The length of a shape is the rank of a result, and ranks must be known.
bool Node::hasKnownLength(Value shape) {
  if (!hasFailed && ShapedType::isDynamic(dim(shape, 0)))
    unsupported("the rank of the result is not known; give the input shapes with --shape");
  return !hasFailed;
}

Value Node::reshapeTo(Value x, Value shape, bool allowZero) {
  shape = cast(shape, builder().getI64Type());
  auto known = knownArray(shape);
  if (!known && !hasKnownLength(shape))
    return {};
  return make<graph::ReshapeOp>(x, known ? Value() : shape, known, allowZero);
}

Value Node::broadcastTo(Value x, Value shape) {
  shape = cast(shape, builder().getI64Type());
  auto known = knownArray(shape);
  if (!known && !hasKnownLength(shape))
    return {};
  return make<graph::BroadcastOp>(x, known ? Value() : shape, known);
}

Value Node::shapeOf(Value x, int64_t start, std::optional<int64_t> end) {
  return make<graph::ShapeOfOp>(x, builder().getI64IntegerAttr(start),
                                end ? builder().getI64IntegerAttr(*end) : IntegerAttr());
}

Value Node::concat(ValueRange parts, int64_t axis) { return make<graph::ConcatOp>(parts, axis); }

Value Node::slice(Value x, int64_t axis, int64_t start, int64_t end) {
  auto one = [&](int64_t v) { return builder().getDenseI64ArrayAttr({v}); };
  return make<graph::SliceOp>(x, Value(), Value(), Value(), one(start), one(end), one(1), one(axis));
}

Value Node::matmul(Value a, Value b, bool transposeA, bool transposeB) {
  return make<graph::MatMulOp>(a, b, transposeA, transposeB);
}

OpBuilder &Node::builder() { return importer.builder; }
Type Node::placeholderType() { return RankedTensorType::get({}, builder().getF32Type()); }

Value Node::failInference() {
  std::string what = importer.takeDiagnostic();
  invalid(what.empty() ? "operands do not fit together" : what);
  return {};
}

std::string Importer::overLimit(StringRef name, Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  double sizeBytes = (tensor.getElementTypeBitWidth() + 7) / 8;
  for (int64_t dim : tensor.getShape()) // a 0 among them does not make the others harmless: strides are their products
    sizeBytes *= ShapedType::isDynamic(dim) ? 1.0 : std::max(static_cast<double>(dim), 1.0);
  if (sizeBytes <= static_cast<double>(options.maxTensorBytes))
    return {};
  return cat(quoted(name), " would need ", formatBytes(static_cast<uint64_t>(std::min(sizeBytes, 1.0e19))), "; limit ",
             formatBytes(options.maxTensorBytes));
}

/// Refuses results that no machine could hold before anything tries to (runtime.md 6.3 row 29), and operands that the
/// op does not take: shape inference looks at shapes, the verifier at ranks and element types.
Value Node::create(OperationState &state, TypeRange types) {
  for (Type type : types)
    if (std::string what = importer.overLimit(proto.output_size() ? proto.output(0) : "result", type); !what.empty()) {
      overLimit(what);
      return {};
    }
  state.types.assign(types.begin(), types.end());
  Operation *op = builder().create(state);
  // Only the op's own constraints: mlir::verify would also look at dominance, which took a tenth of an import.
  if (mlir::failed(op->getName().verifyInvariants(op))) {
    failInference();
    op->erase();
    return {};
  }
  return op->getResult(0);
}

std::string typeText(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return "?";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << tensor.getElementType() << '[';
  llvm::interleave(tensor.getShape(), os, [&](int64_t d) { ShapedType::isDynamic(d) ? os << '?' : os << d; }, ",");
  os << ']';
  return text;
}

Type elementTypeOf(MLIRContext *context, DType dtype) {
  Builder b(context);
  switch (dtype) {
  case DType::F32:
    return b.getF32Type();
  case DType::F16:
    return b.getF16Type();
  case DType::BF16:
    return b.getBF16Type();
  case DType::F64:
    return b.getF64Type();
  case DType::I8:
    return b.getIntegerType(8);
  case DType::I16:
    return b.getIntegerType(16);
  case DType::I32:
    return b.getIntegerType(32);
  case DType::I64:
    return b.getIntegerType(64);
  case DType::U8:
    return b.getIntegerType(8, false);
  case DType::U16:
    return b.getIntegerType(16, false);
  case DType::U32:
    return b.getIntegerType(32, false);
  case DType::U64:
    return b.getIntegerType(64, false);
  case DType::Bool:
    return b.getI1Type();
  }
  return {};
}

} // namespace gaudi::import
