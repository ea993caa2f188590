//===- Opsets.cpp - operator set imports, and names for messages ----------===//
#include "lib/Onnx/Checks.h"
#include "runtime/base/Text.h"

#include <google/protobuf/unknown_field_set.h>

namespace gaudi {

std::string quoted(std::string_view name) {
  constexpr size_t shown = 200;
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "'";
  for (char c : name.substr(0, shown)) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    else
      out += c;
  }
  return out + (name.size() > shown ? "...'" : "'");
}

std::string describeNode(const ::onnx::NodeProto &node, int index) {
  if (!node.name().empty())
    return cat("node ", quoted(node.name()));
  return cat("node #", index, " (", node.op_type(), ")");
}

int64_t opsetOf(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto> &imports,
                std::string_view domain) {
  for (const auto &import : imports)
    if (canonicalDomain(import.domain()) == domain)
      return import.version();
  return 0;
}

std::string unknownString(const google::protobuf::Message &message, int field) {
  const auto &unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i)
    if (unknown.field(i).number() == field &&
        unknown.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      return unknown.field(i).length_delimited();
  return {};
}

static Status checkImports(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto> &imports,
                           const std::string &where) {
  // Exporters declare domains they do not use, so only ai.onnx must be one we know; nodes tell about the others.
  int64_t version = opsetOf(imports, "");
  if (version == 0 && imports.empty())
    return Status::error(StatusCode::InvalidInput, cat(where, " declares no opset"), "set opset_import when exporting");
  if (version != 0 && (version < kMinOpset || version > kMaxOpset))
    return Status::error(StatusCode::Unsupported,
                         cat("ai.onnx opset ", version, " unsupported (", kMinOpset, "-", kMaxOpset, ")"),
                         "convert with onnx.version_converter, or export with a supported opset");
  return {};
}

Status checkOpsets(const ::onnx::ModelProto &model) {
  GAUDI_TRY(checkImports(model.opset_import(), "model"));
  for (const auto &function : model.functions())
    if (!function.opset_import().empty())
      GAUDI_TRY(checkImports(function.opset_import(), cat("function ", quoted(function.name()))));
  return {};
}

} // namespace gaudi
