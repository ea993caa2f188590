//===- TensorProto.h - ONNX's input_0.pb files ------------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "tools/gaudi-run/io/Array.h"
#include "tools/gaudi-run/io/Limits.h"

#include <span>

namespace gaudi::io {

/// Reads an onnx.TensorProto, the format of ONNX's test_data_set_0/input_0.pb, by its wire format: the runtime has no
/// protobuf. The tensor's name lands in spec.name. Strings, complex types, segments and external data are refused.
/// Errors: InvalidInput, Unsupported, ResourceLimit.
Expected<Array> parseTensorProto(std::span<const std::byte> file, const std::string &where, const Limits &limits = {});
Expected<Array> readTensorProto(const std::string &path, const Limits &limits = {});

} // namespace gaudi::io
