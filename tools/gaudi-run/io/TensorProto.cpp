//===- TensorProto.cpp - ONNX's input_0.pb files --------------------------===//
//
// Field numbers: onnx.proto, message TensorProto. Wire format: varint tags, field << 3 | type; types 0 varint, 1
// 64-bit, 2 length-delimited, 5 32-bit. Repeated numbers come packed (one length-delimited run) or one by one.
//
//===----------------------------------------------------------------------===//
#include "tools/gaudi-run/io/TensorProto.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"

#include <cstring>

namespace gaudi::io {

namespace {
enum Wire { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Field {
  uint32_t number = 0, wire = 0;
  uint64_t value = 0;               ///< Varint, Fixed
  std::span<const std::byte> bytes; ///< Bytes
};

/// Cursor over a message.
struct Reader {
  std::span<const std::byte> rest;

  bool varint(uint64_t &out) {
    out = 0;
    for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      auto byte = std::to_integer<uint64_t>(rest[0]);
      rest = rest.subspan(1);
      out |= (byte & 127) << shift;
      if (byte < 128)
        return true;
    }
    return false;
  }
  bool fixed(size_t width, uint64_t &out) {
    if (rest.size() < width)
      return false;
    out = 0;
    std::memcpy(&out, rest.data(), width);
    rest = rest.subspan(width);
    return true;
  }
  bool next(Field &field) {
    uint64_t tag, size;
    if (!varint(tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
      return false;
    field = {static_cast<uint32_t>(tag >> 3), static_cast<uint32_t>(tag & 7), 0, {}};
    switch (field.wire) {
    case Varint:
      return varint(field.value);
    case Fixed64:
      return fixed(8, field.value);
    case Fixed32:
      return fixed(4, field.value);
    case Bytes:
      if (!varint(size) || size > rest.size())
        return false;
      field.bytes = rest.first(size);
      rest = rest.subspan(size);
      return true;
    }
    return false;
  }
};

/// The message's parts, data still in the file.
struct Message {
  std::vector<int64_t> dims;
  uint64_t dataType = 0;
  std::string name;
  bool hasRaw = false;
  std::span<const std::byte> raw;
  uint32_t typedField = 0;   ///< number of the float_data, int32_data ... field in use, 0 = none
  std::vector<Field> typed;  ///< its occurrences
  uint32_t refusedField = 0; ///< segment, string_data, external_data
};
} // namespace

static Status invalid(const std::string &where, std::string what) {
  return Status::error(StatusCode::InvalidInput, cat(where, ": ", what));
}

/// Adds dims of one field occurrence.
static bool addDims(const Field &field, std::vector<int64_t> &dims, unsigned maxRank) {
  Reader packed = {field.bytes};
  uint64_t value = field.value;
  if (field.wire == Varint)
    dims.push_back(static_cast<int64_t>(value));
  else
    while (!packed.rest.empty()) {
      if (dims.size() > maxRank || !packed.varint(value))
        return false;
      dims.push_back(static_cast<int64_t>(value));
    }
  return dims.size() <= maxRank;
}

static Status parseMessage(std::span<const std::byte> file, const std::string &where, const Limits &limits,
                           Message &out) {
  Reader in = {file};
  while (!in.rest.empty()) {
    Field field;
    size_t at = file.size() - in.rest.size();
    if (!in.next(field))
      return invalid(where, cat("not a TensorProto, or truncated at byte ", at, " of ", file.size()));
    switch (field.number) {
    case 1: // dims
      if (!addDims(field, out.dims, limits.maxRank))
        return invalid(where, cat("more than ", limits.maxRank, " dimensions"));
      break;
    case 2:
      out.dataType = field.value;
      break;
    case 8:
      out.name.assign(reinterpret_cast<const char *>(field.bytes.data()), std::min<size_t>(field.bytes.size(), 4096));
      break;
    case 9:
      out.raw = field.bytes, out.hasRaw = true;
      break;
    case 4:
    case 5:
    case 7:
    case 10:
    case 11: // float, int32, int64, double, uint64
      if (out.typedField && out.typedField != field.number)
        return invalid(where, "two data fields");
      out.typedField = field.number;
      out.typed.push_back(field);
      break;
    case 3:
    case 6:
    case 13:
      out.refusedField = field.number;
      break;
    case 14: // data_location
      if (field.value == 1)
        out.refusedField = 13;
      break;
    default:
      break; // doc_string and what later versions add
    }
  }
  return {};
}

/// data_type -> ours, and the typed field that may hold it.
static Status mapType(const Message &message, const std::string &where, DType &dtype, uint32_t &typedField) {
  struct Row {
    uint8_t onnx;
    DType dtype;
    uint8_t field;
  };
  static constexpr Row rows[] = {
      {1, DType::F32, 4},   {2, DType::U8, 5},    {3, DType::I8, 5},    {4, DType::U16, 5},  {5, DType::I16, 5},
      {6, DType::I32, 5},   {7, DType::I64, 7},   {9, DType::Bool, 5},  {10, DType::F16, 5}, {11, DType::F64, 10},
      {12, DType::U32, 11}, {13, DType::U64, 11}, {16, DType::BF16, 5},
  };
  for (const Row &row : rows) {
    if (row.onnx == message.dataType) {
      dtype = row.dtype;
      typedField = row.field;
      return {};
    }
  }
  if (message.dataType == 0)
    return invalid(where, "not a TensorProto: no data_type");
  return Status::error(StatusCode::Unsupported, cat(where, ": TensorProto data_type ", message.dataType,
                                                    message.dataType == 8 ? " (string)" : "", " is not supported"));
}

/// Appends the numbers of one occurrence of a typed field, narrowed to `width` bytes; false if they do not fit `end`.
static bool addTyped(const Field &field, size_t width, std::byte *&to, const std::byte *end) {
  size_t fixedWidth = field.number == 4 ? 4 : field.number == 10 ? 8 : 0;
  Reader in = {field.bytes};
  bool single = field.wire != Bytes;
  while (single || !in.rest.empty()) {
    uint64_t value = field.value;
    if (!single && !(fixedWidth ? in.fixed(fixedWidth, value) : in.varint(value)))
      return false;
    if (static_cast<size_t>(end - to) < width)
      return false;
    std::memcpy(to, &value, width);
    to += width;
    if (single)
      return true;
  }
  return true;
}

static Status fill(const Message &message, const std::string &where, uint32_t typedField, Array &array) {
  size_t bytes = array.spec.sizeBytes(), width = sizeOf(array.spec.dtype);
  auto wrongSize = [&](uint64_t found) {
    return invalid(where,
                   cat("'", message.name, "': has ", found, " bytes, shape ", toString(array.spec), " needs ", bytes));
  };
  if (message.hasRaw) {
    if (message.typedField)
      return invalid(where, cat("'", message.name, "': two data fields"));
    if (message.raw.size() != bytes)
      return wrongSize(message.raw.size());
    if (bytes)
      std::memcpy(array.data.get(), message.raw.data(), bytes);
    return {};
  }
  if (message.typedField && message.typedField != typedField)
    return invalid(where, cat("'", message.name, "': data is in field ", message.typedField, ", its type needs field ",
                              typedField));
  std::byte *to = array.data.get(), *end = to + bytes;
  for (const Field &field : message.typed)
    if (!addTyped(field, width, to, end))
      return invalid(where,
                     cat("'", message.name, "': more data than shape ", toString(array.spec), " holds, or damaged"));
  return to == end ? Status() : wrongSize(static_cast<uint64_t>(to - array.data.get()));
}

Expected<Array> parseTensorProto(std::span<const std::byte> file, const std::string &where, const Limits &limits) {
  if (file.empty())
    return invalid(where, "not a TensorProto: file is empty");
  Message message;
  GAUDI_TRY(parseMessage(file, where, limits, message));
  if (message.refusedField)
    return Status::error(StatusCode::Unsupported, cat(where, ": TensorProto with ",
                                                      message.refusedField == 13  ? "external data"
                                                      : message.refusedField == 6 ? "strings"
                                                                                  : "segments",
                                                      " is not supported"));
  TensorSpec spec = {message.name, DType::F32, message.dims};
  uint32_t typedField = 0;
  GAUDI_TRY(mapType(message, where, spec.dtype, typedField));
  uint64_t count, bytes;
  for (int64_t dim : spec.shape)
    if (dim < 0)
      return invalid(where, cat("'", message.name, "': negative dimension ", dim));
  if (!checkedElementCount(spec.shape, count) || !checkedMul(count, sizeOf(spec.dtype), bytes))
    return invalid(where, cat("'", message.name, "': element count overflows"));
  // The data is in this file, so a larger tensor is a lie; checked before the allocation.
  if (bytes > limits.maxBytes || count > file.size())
    return invalid(where, cat("'", message.name, "': shape ", toString(spec), " needs ", formatBytes(bytes),
                              ", file has ", formatBytes(file.size())));
  Array array = Array::zeros(std::move(spec));
  if (!array.valid())
    return Status::error(StatusCode::ResourceLimit, cat(where, ": no memory for ", formatBytes(bytes)));
  GAUDI_TRY(fill(message, where, typedField, array));
  if (array.spec.dtype == DType::Bool)
    for (uint64_t i = 0; i < count; ++i)
      array.as<uint8_t>()[i] = array.as<uint8_t>()[i] != 0;
  return array;
}

Expected<Array> readTensorProto(const std::string &path, const Limits &limits) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.takeStatus();
  return parseTensorProto(file->bytes(), path, limits);
}

} // namespace gaudi::io
