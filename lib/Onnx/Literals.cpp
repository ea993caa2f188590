//===- Literals.cpp - TensorProto -> checked bytes ------------------------===//
#include "lib/Onnx/Checks.h"
#include "lib/Onnx/WireReader.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "tensor bytes are used in place");

namespace gaudi {

namespace {

/// TensorProto.DataType by number (onnx.proto at v1.22.0): our type, or the name to refuse it with.
struct OnnxType {
  std::string_view name;
  std::optional<DType> dtype;
};
constexpr OnnxType onnxTypes[] = {
    {"undefined", {}},
    {"float", DType::F32},
    {"uint8", DType::U8},
    {"int8", DType::I8},
    {"uint16", DType::U16},
    {"int16", DType::I16},
    {"int32", DType::I32},
    {"int64", DType::I64},
    {"string", {}},
    {"bool", DType::Bool},
    {"float16", DType::F16},
    {"double", DType::F64},
    {"uint32", DType::U32},
    {"uint64", DType::U64},
    {"complex64", {}},
    {"complex128", {}},
    {"bfloat16", DType::BF16},
    {"float8e4m3fn", {}},
    {"float8e4m3fnuz", {}},
    {"float8e5m2", {}},
    {"float8e5m2fnuz", {}},
    {"uint4", {}},
    {"int4", {}},
    {"float4e2m1", {}},
    {"float8e8m0", {}},
    {"uint2", {}},
    {"int2", {}},
};

/// The typed field a data type is stored in when raw_data is not used.
DataField typedField(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return DataField::Float;
  case DType::F64:
    return DataField::Double;
  case DType::I64:
    return DataField::Int64;
  case DType::U32:
  case DType::U64:
    return DataField::UInt64;
  default:
    return DataField::Int32;
  }
}

std::string_view nameOf(DataField field) {
  switch (field) {
  case DataField::Float:
    return "float_data";
  case DataField::Int32:
    return "int32_data";
  case DataField::Int64:
    return "int64_data";
  case DataField::Double:
    return "double_data";
  case DataField::UInt64:
    return "uint64_data";
  case DataField::Raw:
    return "raw_data";
  case DataField::None:
    break;
  }
  return "no data";
}

std::string shapeText(const TensorLiteral &literal) {
  return cat("shape [", join(literal.shape, ","), "] ", nameOf(literal.dtype));
}

/// Appends the low `width` bytes of an integer: int32_data and uint64_data hold narrower types, fp16 as its bits.
void appendNarrow(std::vector<std::byte> &out, uint64_t value, size_t width) {
  size_t start = out.size();
  out.resize(start + width);
  std::memcpy(out.data() + start, &value, width);
}

/// Packed varints of a cut field; false if they are malformed.
bool decodeVarints(std::span<const std::byte> wire, size_t width, std::vector<std::byte> &out) {
  auto count =
      std::count_if(wire.begin(), wire.end(), [](std::byte b) { return (b & std::byte{0x80}) == std::byte{0}; });
  out.reserve(static_cast<size_t>(count) * width);
  for (WireReader reader(wire, 0, wire.size()); !reader.atEnd();) {
    uint64_t value;
    if (!reader.varint(value))
      return false;
    appendNarrow(out, value, width);
  }
  return true;
}

template <typename Field> std::vector<std::byte> narrow(const Field &values, size_t width) {
  std::vector<std::byte> out;
  out.reserve(static_cast<size_t>(values.size()) * width);
  for (auto value : values)
    appendNarrow(out, static_cast<uint64_t>(value), width);
  return out;
}

template <typename Field> std::span<const std::byte> inPlace(const Field &values) {
  return std::as_bytes(std::span(values.data(), static_cast<size_t>(values.size())));
}

Status invalid(const NamedTensor &named, const std::string &what) {
  return Status::error(StatusCode::InvalidInput, cat(named.where, ": ", what));
}

} // namespace

bool dtypeFromOnnx(int32_t dataType, DType &dtype, std::string &unsupportedName) {
  if (dataType < 0 || static_cast<size_t>(dataType) >= std::size(onnxTypes)) {
    unsupportedName = cat("tensor(type ", dataType, ")");
    return false;
  }
  const OnnxType &row = onnxTypes[dataType];
  if (row.dtype)
    dtype = *row.dtype;
  else
    unsupportedName = cat("tensor(", row.name, ")");
  return row.dtype.has_value();
}

/// Where the one copy of a tensor's data is.
struct LiteralReader::Source {
  DataField field = DataField::None;
  std::optional<CutData> cut; ///< in the model file; otherwise in the protobuf object
  bool external = false;
};

Status LiteralReader::readShape(const NamedTensor &named, TensorLiteral &literal, uint64_t &sizeBytes) {
  const auto &dims = named.tensor->dims();
  for (int64_t dim : dims)
    if (dim < 0)
      return invalid(named, cat("negative dimension ", dim));
  uint64_t count = 0;
  if (!checkedElementCount(std::span(dims.data(), static_cast<size_t>(dims.size())), count))
    return invalid(named, "element count overflows");
  if (static_cast<uint64_t>(dims.size()) > options.maxRank)
    return Status::error(StatusCode::ResourceLimit,
                         cat(named.where, ": rank ", dims.size(), " is above the limit of ", options.maxRank));
  if (count > options.maxElements)
    return Status::error(StatusCode::ResourceLimit,
                         cat(named.where, ": ", count, " elements are above the limit of ", options.maxElements));
  literal.shape.assign(dims.begin(), dims.end());
  if (dtypeFromOnnx(named.tensor->data_type(), literal.dtype, literal.unsupportedType))
    sizeBytes = count * sizeOf(literal.dtype); // at most 2^43
  return {};
}

Status LiteralReader::findSource(const NamedTensor &named, Source &source) {
  const ::onnx::TensorProto &tensor = *named.tensor;
  int found = 0;
  auto add = [&](DataField field, bool present) {
    if (present && ++found)
      source.field = field;
  };
  add(DataField::Raw, !tensor.raw_data().empty());
  add(DataField::Float, tensor.float_data_size());
  add(DataField::Int32, tensor.int32_data_size());
  add(DataField::Int64, tensor.int64_data_size());
  add(DataField::Double, tensor.double_data_size());
  add(DataField::UInt64, tensor.uint64_data_size());
  const auto &unknown = tensor.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).number() != kMarkerField)
      continue;
    source.cut = cuts[unknown.field(i).varint()]; // written by the scanner, which drops forged ones
    add(source.cut->field, true);
  }
  source.external = tensor.data_location() == ::onnx::TensorProto::EXTERNAL;
  if (found + source.external > 1)
    return invalid(named, "two data fields");
  return {};
}

Status LiteralReader::takeContiguous(const NamedTensor &named, std::span<const std::byte> bytes, uint64_t sizeBytes,
                                     TensorLiteral &literal) {
  if (bytes.size() != sizeBytes)
    return invalid(named, cat("has ", bytes.size(), " bytes, ", shapeText(literal), " needs ", sizeBytes));
  literal.bytes = bytes;
  return {};
}

Status LiteralReader::takeDecoded(const NamedTensor &named, std::vector<std::byte> bytes, uint64_t sizeBytes,
                                  TensorLiteral &literal) {
  GAUDI_TRY(takeContiguous(named, bytes, sizeBytes, literal));
  if (sizeBytes > kCutBytes) {
    literal.ref =
        WeightRef{store.addOwned(cat(store.path(0), "#", named.tensor->name()), std::move(bytes)), 0, sizeBytes};
    literal.bytes = store.bytes(*literal.ref);
  } else {
    literal.bytes = small.emplace_back(std::move(bytes));
  }
  return {};
}

Status LiteralReader::readSource(const NamedTensor &named, const Source &source, uint64_t sizeBytes,
                                 TensorLiteral &literal) {
  const ::onnx::TensorProto &tensor = *named.tensor;
  DataField typed = typedField(literal.dtype);
  if (source.field != DataField::None && source.field != DataField::Raw && source.field != typed)
    return invalid(named, cat("type ", nameOf(literal.dtype), " cannot be in ", nameOf(source.field), " (expected ",
                              nameOf(typed), ")"));
  bool fixedWidth =
      source.field == DataField::Raw || source.field == DataField::Float || source.field == DataField::Double;
  size_t width = sizeOf(literal.dtype);
  if (source.cut) {
    auto bytes = store.bytes(0, source.cut->offset, source.cut->length);
    if (fixedWidth) {
      literal.ref = WeightRef{0, source.cut->offset, source.cut->length};
      return takeContiguous(named, bytes, sizeBytes, literal);
    }
    std::vector<std::byte> decoded;
    if (!decodeVarints(bytes, width, decoded))
      return invalid(named, cat("malformed ", nameOf(source.field)));
    return takeDecoded(named, std::move(decoded), sizeBytes, literal);
  }
  switch (source.field) {
  case DataField::Raw:
    return takeContiguous(named, inPlace(tensor.raw_data()), sizeBytes, literal);
  case DataField::Float:
    return takeContiguous(named, inPlace(tensor.float_data()), sizeBytes, literal);
  case DataField::Double:
    return takeContiguous(named, inPlace(tensor.double_data()), sizeBytes, literal);
  case DataField::Int64:
    return takeContiguous(named, inPlace(tensor.int64_data()), sizeBytes, literal);
  case DataField::Int32:
    return takeDecoded(named, narrow(tensor.int32_data(), width), sizeBytes, literal);
  case DataField::UInt64:
    return takeDecoded(named, narrow(tensor.uint64_data(), width), sizeBytes, literal);
  case DataField::None:
    return takeContiguous(named, {}, sizeBytes, literal);
  }
  return {};
}

Expected<TensorLiteral> LiteralReader::read(const NamedTensor &named) {
  TensorLiteral literal;
  Source source;
  uint64_t sizeBytes = 0;
  GAUDI_TRY(readShape(named, literal, sizeBytes));
  GAUDI_TRY(findSource(named, source));
  if (!literal.unsupportedType.empty())
    return literal; // refused by the importer, with all the others, if something uses it
  if (named.tensor->has_segment())
    return Status::error(StatusCode::Unsupported, cat(named.where, ": segmented tensors are not supported"));
  if (source.external) {
    auto ref = external.find(*named.tensor, named.where, sizeBytes, shapeText(literal));
    if (!ref.ok())
      return ref.takeStatus();
    literal.ref = *ref;
    literal.bytes = store.bytes(*ref);
  } else {
    GAUDI_TRY(readSource(named, source, sizeBytes, literal));
  }
  // Kernels rely on 0 and 1.
  if (literal.dtype == DType::Bool &&
      std::any_of(literal.bytes.begin(), literal.bytes.end(), [](std::byte b) { return b > std::byte{1}; }))
    return invalid(named, "has a bool that is neither 0 nor 1");
  return literal;
}

} // namespace gaudi
