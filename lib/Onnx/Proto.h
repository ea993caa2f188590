//===- Proto.h - the generated ONNX classes and small helpers ---*- C++ -*-===//
#pragma once

#include "lib/Onnx/Model.h"

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>

namespace gaudi {

/// `'name'` for messages, with control characters escaped: names come from untrusted files and go to terminals.
std::string quoted(std::string_view name);

/// `node 'name'`, or `node #3 (Add)` when it has no name.
std::string describeNode(const ::onnx::NodeProto &node, int index);

/// "" for the default operator set, which files spell "" or "ai.onnx".
inline std::string_view canonicalDomain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

/// Version of the (canonical) domain in an opset_import list; 0 if it is not imported.
int64_t opsetOf(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto> &imports, std::string_view domain);

/// A string field that the installed onnx.proto (1.12) does not know, e.g. NodeProto.overload = 8; "" if absent.
std::string unknownString(const google::protobuf::Message &message, int field);
inline std::string overloadOf(const ::onnx::NodeProto &node) { return unknownString(node, 8); }
inline std::string overloadOf(const ::onnx::FunctionProto &function) { return unknownString(function, 13); }

/// "f32", or "tensor(string)" for a TensorProto.DataType that we do not have. Returns whether `dtype` was set.
bool dtypeFromOnnx(int32_t dataType, DType &dtype, std::string &unsupportedName);

} // namespace gaudi
