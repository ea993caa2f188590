//===- Scan.cpp - cuts weights out of an ONNX file before parsing ---------===//
#include "lib/Onnx/Scan.h"
#include "lib/Onnx/WireReader.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace gaudi {

namespace {

/// Messages on the way from the model to its tensors; all others are copied whole.
enum class Message : uint8_t { Model, Training, Function, Graph, Node, Attribute, Sparse, Tensor };

struct Child {
  Message parent;
  uint32_t field;
  Message child;
};
constexpr Child children[] = {
    {Message::Model, 7, Message::Graph},         {Message::Model, 20, Message::Training},
    {Message::Model, 25, Message::Function},     {Message::Training, 1, Message::Graph},
    {Message::Training, 2, Message::Graph},      {Message::Function, 7, Message::Node},
    {Message::Function, 11, Message::Attribute}, {Message::Graph, 1, Message::Node},
    {Message::Graph, 5, Message::Tensor},        {Message::Graph, 15, Message::Sparse},
    {Message::Node, 5, Message::Attribute},      {Message::Attribute, 5, Message::Tensor},
    {Message::Attribute, 6, Message::Graph},     {Message::Attribute, 10, Message::Tensor},
    {Message::Attribute, 11, Message::Graph},    {Message::Attribute, 22, Message::Sparse},
    {Message::Attribute, 23, Message::Sparse},   {Message::Sparse, 1, Message::Tensor},
    {Message::Sparse, 2, Message::Tensor},
};

/// Fields without influence on the compiled program: documentation, producer, metadata, and where weights are stored.
struct Unhashed {
  Message message;
  uint32_t field;
};
constexpr Unhashed unhashed[] = {
    {Message::Model, 2},   {Message::Model, 3},      {Message::Model, 5},     {Message::Model, 6},
    {Message::Model, 14},  {Message::Graph, 10},     {Message::Graph, 16},    {Message::Node, 6},
    {Message::Node, 9},    {Message::Attribute, 13}, {Message::Tensor, 12},   {Message::Tensor, 13},
    {Message::Tensor, 16}, {Message::Function, 8},   {Message::Function, 14},
};

/// Length-delimited TensorProto fields that may hold bulk data.
constexpr DataField dataFields[] = {DataField::Float, DataField::Int32,  DataField::Int64,
                                    DataField::Raw,   DataField::Double, DataField::UInt64};

/// Top-level fields of ModelProto with their wire types: how a file is recognised.
constexpr uint8_t modelTags[] = {1 << 3,     2 << 3 | 2, 3 << 3 | 2, 4 << 3 | 2, 5 << 3,
                                 6 << 3 | 2, 7 << 3 | 2, 8 << 3 | 2, 14 << 3 | 2};

std::optional<Message> childOf(Message parent, uint32_t field) {
  for (const Child &row : children)
    if (row.parent == parent && row.field == field)
      return row.child;
  return std::nullopt;
}

bool isHashed(Message message, uint32_t field) {
  return std::none_of(std::begin(unhashed), std::end(unhashed),
                      [&](const Unhashed &row) { return row.message == message && row.field == field; });
}

bool isDataField(uint32_t field) {
  return std::any_of(std::begin(dataFields), std::end(dataFields),
                     [&](DataField row) { return static_cast<uint32_t>(row) == field; });
}

Status invalid(std::string message, std::string hint = {}) {
  return Status::error(StatusCode::InvalidInput, std::move(message), std::move(hint));
}

class Scanner {
public:
  Scanner(std::span<const std::byte> file, const ScanLimits &limits) : file(file), limits(limits) {
    skeleton.hash = std::make_unique<Xxh3Stream>();
  }

  Status scanMessage(Message message, size_t begin, size_t end, int nesting);
  Skeleton skeleton;

private:
  struct Field {
    uint32_t number;
    WireType type;
    size_t begin;   ///< of the tag
    size_t payload; ///< of the value; of the bytes for WireType::Bytes
    size_t end;
  };

  Status readField(WireReader &reader, Field &field);
  Status scanField(Message message, const Field &field, int nesting);
  Status scanChild(Message child, const Field &field, int nesting);
  Status malformed(const Field &field, const char *what) const;
  Status tooShort(const Field &field, uint64_t length, size_t limit) const;
  void cut(const Field &field);
  void copy(size_t begin, size_t end, bool hashed);
  void emitVarint(uint64_t value);

  std::span<const std::byte> file;
  const ScanLimits &limits;
  uint64_t nodeCount = 0, fieldCount = 0;
};

Status Scanner::malformed(const Field &field, const char *what) const {
  return invalid(cat("malformed protobuf at byte ", field.begin, ": ", what));
}

/// A field that passes the end of the file was cut off; one that only passes the end of its message is a lie.
Status Scanner::tooShort(const Field &field, uint64_t length, size_t limit) const {
  if (limit != file.size())
    return malformed(field, "field is longer than its message");
  uint64_t expected = field.payload + std::min<uint64_t>(length, UINT64_MAX - field.payload);
  return invalid(cat("truncated at byte ", file.size(), " of ", expected), "copy or download the file again");
}

Status Scanner::readField(WireReader &reader, Field &field) {
  uint64_t tag, length = 0;
  field.begin = field.payload = reader.offset();
  if (!reader.varint(tag))
    return reader.atEnd() ? tooShort(field, 1, reader.end()) : malformed(field, "bad tag");
  if (tag >> 3 == 0 || tag >> 3 > static_cast<uint64_t>(kMarkerField))
    return malformed(field, "bad field number");
  field.number = static_cast<uint32_t>(tag >> 3);
  field.type = static_cast<WireType>(tag & 7);
  field.payload = reader.offset();
  switch (field.type) {
  case WireType::Varint:
    if (!reader.varint(length))
      return reader.atEnd() ? tooShort(field, 1, reader.end()) : malformed(field, "bad varint");
    field.end = reader.offset();
    return {};
  case WireType::Fixed64:
    length = 8;
    break;
  case WireType::Fixed32:
    length = 4;
    break;
  case WireType::Bytes:
    if (!reader.varint(length))
      return reader.atEnd() ? tooShort(field, 1, reader.end()) : malformed(field, "bad length");
    field.payload = reader.offset();
    break;
  default:
    return malformed(field, "group or unknown wire type");
  }
  if (!reader.skip(length))
    return tooShort(field, length, reader.end());
  field.end = reader.offset();
  return {};
}

Status Scanner::scanMessage(Message message, size_t begin, size_t end, int nesting) {
  for (WireReader reader(file, begin, end); !reader.atEnd();) {
    Field field;
    GAUDI_TRY(readField(reader, field));
    GAUDI_TRY(scanField(message, field, nesting));
    if (skeleton.bytes.size() > limits.maxSkeletonBytes)
      return Status::error(StatusCode::ResourceLimit, cat("more than ", formatBytes(limits.maxSkeletonBytes),
                                                          " of nodes, names and other structure"));
  }
  return {};
}

Status Scanner::scanField(Message message, const Field &field, int nesting) {
  if (message == Message::Tensor && field.number == static_cast<uint32_t>(kMarkerField))
    return {}; // forged
  if (field.type == WireType::Bytes) {
    if (++fieldCount > limits.maxFields)
      return Status::error(StatusCode::ResourceLimit, cat("more than ", limits.maxFields, " fields"));
    if (auto child = childOf(message, field.number))
      return scanChild(*child, field, nesting);
    if (message == Message::Tensor && isDataField(field.number) && field.end - field.payload > kCutBytes) {
      cut(field);
      return {};
    }
  }
  copy(field.begin, field.end, isHashed(message, field.number));
  return {};
}

/// Writes the child with a length of fixed width, patched afterwards: its final size is not known before, and moving
/// the bytes would cost quadratic time in the nesting. Protobuf readers accept padded varints.
Status Scanner::scanChild(Message child, const Field &field, int nesting) {
  constexpr size_t lengthWidth = 5;
  if (child == Message::Node && ++nodeCount > limits.maxNodes)
    return Status::error(StatusCode::ResourceLimit, cat("more than ", limits.maxNodes, " nodes"));
  if (child == Message::Graph && nesting++ > kMaxNesting)
    return invalid(cat("subgraphs nested deeper than ", kMaxNesting, " (protobuf recursion limit)"));

  std::string &out = skeleton.bytes;
  emitVarint(uint64_t(field.number) << 3 | static_cast<uint64_t>(WireType::Bytes));
  size_t start = out.size() + lengthWidth;
  out.resize(start);
  GAUDI_TRY(scanMessage(child, field.payload, field.end, nesting));
  uint64_t length = out.size() - start;
  for (size_t i = 0; i < lengthWidth; ++i, length >>= 7)
    out[start - lengthWidth + i] = static_cast<char>((length & 0x7f) | (i + 1 < lengthWidth ? 0x80 : 0));
  // Stands for the length, which counts unhashed bytes: no field starts with a zero byte, so the end is unambiguous.
  constexpr std::byte endOfMessage{0};
  skeleton.hash->update({&endOfMessage, 1});
  return {};
}

void Scanner::cut(const Field &field) {
  emitVarint(uint64_t(kMarkerField) << 3 | static_cast<uint64_t>(WireType::Varint));
  emitVarint(skeleton.cuts.size());
  skeleton.cuts.push_back({static_cast<DataField>(field.number), field.payload, field.end - field.payload});
}

void Scanner::copy(size_t begin, size_t end, bool hashed) {
  auto piece = file.subspan(begin, end - begin);
  skeleton.bytes.append(reinterpret_cast<const char *>(piece.data()), piece.size());
  if (hashed)
    skeleton.hash->update(piece);
}

void Scanner::emitVarint(uint64_t value) {
  size_t start = skeleton.bytes.size();
  for (; value >= 0x80; value >>= 7)
    skeleton.bytes.push_back(static_cast<char>(value | 0x80));
  skeleton.bytes.push_back(static_cast<char>(value));
  skeleton.hash->update(std::as_bytes(std::span(skeleton.bytes).subspan(start)));
}

/// What the first bytes look like, for "not an ONNX protobuf".
Status notOnnx(std::span<const std::byte> file) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string text;
  for (std::byte b : file.first(std::min<size_t>(3, file.size()))) {
    auto v = static_cast<unsigned>(b);
    text += {' ', digits[v >> 4], digits[v & 15]};
  }
  std::string_view start(reinterpret_cast<const char *>(file.data()), std::min<size_t>(64, file.size()));
  if (start.starts_with("version https://git-lfs"))
    return invalid(cat("not an ONNX protobuf (starts with", text, ")"), "this is a Git LFS pointer: run git lfs pull");
  return invalid(cat("not an ONNX protobuf (starts with", text, ")"));
}

} // namespace

Expected<Skeleton> scanModel(std::span<const std::byte> file, const ScanLimits &limits) {
  if (file.empty())
    return invalid("not an ONNX model: file is empty");
  if (std::find(std::begin(modelTags), std::end(modelTags), static_cast<uint8_t>(file[0])) == std::end(modelTags))
    return notOnnx(file);
  if (file.size() > INT32_MAX)
    return invalid("larger than protobuf's 2 GiB limit; re-export with external data");
  Scanner scanner(file, limits);
  GAUDI_TRY(scanner.scanMessage(Message::Model, 0, file.size(), 0));
  return std::move(scanner.skeleton);
}

} // namespace gaudi
