//===- Node.cpp - reading and building for import rules -------------------===//
#include "lib/Import/Rules.h"
#include "lib/Onnx/Proto.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::import;

//===----------------------------------------------------------------------===//
// Inputs, outputs, attributes
//===----------------------------------------------------------------------===//

Value Node::in(size_t i) {
  if (has(i))
    return inputs[i];
  invalid("input " + Twine(i) + " is missing");
  return {};
}

bool Node::wantsOutput(size_t i) const { return i < static_cast<size_t>(proto.output_size()) && !proto.output(i).empty(); }
size_t Node::outputCount() const { return proto.output_size(); }

void Node::out(size_t i, Value v) {
  outputs.resize(std::max(outputs.size(), i + 1));
  outputs[i] = v;
}

const ::onnx::AttributeProto *Node::attr(StringRef name) const {
  for (const auto &a : proto.attribute())
    if (a.name() == name.str())
      return &a;
  return nullptr;
}
int64_t Node::integer(StringRef name, int64_t otherwise) const { return attr(name) ? attr(name)->i() : otherwise; }
double Node::number(StringRef name, double otherwise) const { return attr(name) ? attr(name)->f() : otherwise; }
std::string Node::text(StringRef name, StringRef otherwise) const { return attr(name) ? attr(name)->s() : otherwise.str(); }
std::optional<Dims> Node::integers(StringRef name) const {
  if (!attr(name))
    return std::nullopt;
  return Dims(attr(name)->ints().begin(), attr(name)->ints().end());
}

std::nullptr_t Node::unsupported(const Twine &why) {
  if (!failed()) {
    reason = why.str();
    isUnsupported = true;
  }
  return nullptr;
}
std::nullptr_t Node::invalid(const Twine &why) {
  if (!failed())
    reason = why.str();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Knowledge
//===----------------------------------------------------------------------===//

std::optional<Dims> import::constantIntegers(Value value) {
  DenseIntElementsAttr elements;
  constexpr int64_t most = 1 << 16;
  if (!value || !matchPattern(value, m_Constant(&elements)) || elements.getNumElements() > most)
    return std::nullopt;
  bool isUnsigned = elements.getElementType().isUnsignedInteger() || elements.getElementType().isInteger(1);
  Dims values;
  for (APInt v : elements.getValues<APInt>())
    values.push_back(isUnsigned ? static_cast<int64_t>(v.getZExtValue()) : v.getSExtValue());
  return values;
}

std::optional<Dims> Node::constant(size_t i) const { return constantIntegers(optional(i)); }

std::optional<double> Node::constantNumber(size_t i) const {
  DenseElementsAttr elements;
  if (!has(i) || !matchPattern(inputs[i], m_Constant(&elements)) || elements.getNumElements() != 1)
    return std::nullopt;
  graph::HostTensor host = graph::HostTensor::fromElements(elements);
  return host.isFloat() ? host.floats()[0] : static_cast<double>(host.ints()[0]);
}

int64_t Node::axis(int64_t value, int64_t rank) {
  if (value >= -rank && value < rank)
    return value < 0 ? value + rank : value;
  invalid("axis " + Twine(value) + " is outside [" + Twine(-rank) + ", " + Twine(rank) + ")");
  return -1;
}

std::optional<Dims> Node::axes(ArrayRef<int64_t> list, int64_t rank, bool sorted) {
  Dims result;
  for (int64_t a : list) {
    int64_t normal = axis(a, rank);
    if (normal < 0)
      return std::nullopt;
    if (llvm::is_contained(result, normal)) {
      invalid("axis " + Twine(a) + " is given twice");
      return std::nullopt;
    }
    result.push_back(normal);
  }
  if (sorted)
    llvm::sort(result);
  return result;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

static Value dense(Node &n, DenseElementsAttr value) {
  return graph::ConstantOp::create(n.b, n.loc, value.getType(), cast<TypedAttr>(Attribute(value)));
}

Value Node::scalar(double value, Type type) {
  auto tensor = RankedTensorType::get({}, type);
  if (isa<FloatType>(type))
    return dense(*this, DenseElementsAttr::get(tensor, b.getFloatAttr(type, value)));
  APInt integer(type.getIntOrFloatBitWidth(), static_cast<uint64_t>(static_cast<int64_t>(value)), true, true);
  return dense(*this, DenseElementsAttr::get(tensor, integer));
}

Value Node::ints(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, b.getI64Type());
  return dense(*this, DenseElementsAttr::get(type, values));
}

Value Node::cast(Value x, Type type) {
  if (!x || element(x) == type)
    return x;
  return make<graph::CastOp>(x, TypeAttr::get(type));
}

Value Node::transpose(Value x, ArrayRef<int64_t> permutation) { return make<graph::TransposeOp>(x, permutation); }
Value Node::unsqueeze(Value x, ArrayRef<int64_t> axes) { return make<graph::UnsqueezeOp>(x, axes); }
Value Node::squeeze(Value x, ArrayRef<int64_t> axes) { return make<graph::SqueezeOp>(x, b.getDenseI64ArrayAttr(axes)); }

Value Node::reshape(Value x, ArrayRef<int64_t> shape) {
  return make<graph::ReshapeOp>(x, Value(), b.getDenseI64ArrayAttr(shape), /*allowzero=*/false);
}

Value Node::reshapeTo(Value x, Value shape) {
  if (!x || !shape)
    return {};
  return make<graph::ReshapeOp>(x, shape, DenseI64ArrayAttr(), /*allowzero=*/false);
}

Value Node::slice(Value x, int64_t axis, int64_t begin, int64_t end) {
  return make<graph::SliceOp>(x, Value(), Value(), Value(), b.getDenseI64ArrayAttr({begin}), b.getDenseI64ArrayAttr({end}),
                              b.getDenseI64ArrayAttr({1}), b.getDenseI64ArrayAttr({axis}));
}

Value Node::dim(Value x, int64_t axis) {
  return make<graph::ShapeOfOp>(x, b.getI64IntegerAttr(axis), b.getI64IntegerAttr(axis + 1));
}

Value Node::concat(ArrayRef<Value> parts, int64_t axis) { return make<graph::ConcatOp>(ValueRange(parts), b.getI64IntegerAttr(axis)); }
Value Node::matmul(Value x, Value y, bool transX, bool transY) { return make<graph::MatMulOp>(x, y, transX, transY); }

Type import::elementType(MLIRContext *context, int onnxType) {
  Builder b(context);
  switch (onnxType) {
  case ::onnx::TensorProto::FLOAT: return b.getF32Type();
  case ::onnx::TensorProto::FLOAT16: return b.getF16Type();
  case ::onnx::TensorProto::BFLOAT16: return b.getBF16Type();
  case ::onnx::TensorProto::DOUBLE: return b.getF64Type();
  case ::onnx::TensorProto::BOOL: return b.getI1Type();
  case ::onnx::TensorProto::INT8: return b.getIntegerType(8);
  case ::onnx::TensorProto::INT16: return b.getIntegerType(16);
  case ::onnx::TensorProto::INT32: return b.getIntegerType(32);
  case ::onnx::TensorProto::INT64: return b.getIntegerType(64);
  case ::onnx::TensorProto::UINT8: return b.getIntegerType(8, false);
  case ::onnx::TensorProto::UINT16: return b.getIntegerType(16, false);
  case ::onnx::TensorProto::UINT32: return b.getIntegerType(32, false);
  case ::onnx::TensorProto::UINT64: return b.getIntegerType(64, false);
  default: return {};
  }
}

static Type elementType(MLIRContext *context, DType type) {
  Builder b(context);
  switch (type) {
  case DType::F32: return b.getF32Type();
  case DType::F16: return b.getF16Type();
  case DType::BF16: return b.getBF16Type();
  case DType::F64: return b.getF64Type();
  case DType::Bool: return b.getI1Type();
  case DType::I8: return b.getIntegerType(8);
  case DType::I16: return b.getIntegerType(16);
  case DType::I32: return b.getIntegerType(32);
  case DType::I64: return b.getIntegerType(64);
  case DType::U8: return b.getIntegerType(8, false);
  case DType::U16: return b.getIntegerType(16, false);
  case DType::U32: return b.getIntegerType(32, false);
  case DType::U64: return b.getIntegerType(64, false);
  }
  return {};
}

Value Node::constantTensor(const ::onnx::TensorProto &tensor) {
  const TensorLiteral &literal = model.literal(tensor);
  if (!literal.unsupportedType.empty()) {
    unsupported("type " + literal.unsupportedType + " unsupported");
    return {};
  }
  auto type = RankedTensorType::get(literal.shape, ::elementType(b.getContext(), literal.dtype));
  if (literal.bytes.size() > kDenseLimitBytes && literal.ref) {
    auto weight = graph::WeightAttr::get(b.getContext(), type, tensor.name(), literal.ref->file, literal.ref->offset,
                                         literal.ref->length);
    return graph::ConstantOp::create(b, loc, type, mlir::cast<TypedAttr>(Attribute(weight)));
  }
  ArrayRef<char> bytes(reinterpret_cast<const char *>(literal.bytes.data()), literal.bytes.size());
  return dense(*this, graph::HostTensor::fromBytes(type, bytes).toElements());
}
