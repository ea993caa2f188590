//===- InputSpec.cpp - what a program is specialised to -------------------===//
#include "lib/Driver/InputSpec.h"

#include "lib/Onnx/Model.h"
#include "lib/Onnx/Proto.h"

#include "llvm/ADT/StringExtras.h"

using namespace gaudi;
using namespace gaudi::driver;

/// The value given for `name`, or null. The last flag wins, as at import.
template <typename T>
static const T *given(const std::vector<std::pair<std::string, T>> &flags, const std::string &name) {
  const T *found = nullptr;
  for (const auto &[flag, value] : flags)
    if (flag == name)
      found = &value;
  return found;
}

static std::string dimText(const ::onnx::TensorShapeProto::Dimension &dim, const CompileOptions &options) {
  if (dim.has_dim_value())
    return std::to_string(dim.dim_value());
  const int64_t *size = given(options.dims, dim.dim_param());
  return size ? std::to_string(*size) : "?" + dim.dim_param();
}

std::string driver::inputSpec(const OnnxModel &model, const CompileOptions &options) {
  std::string text;
  for (const auto &input : model.proto().graph().input()) {
    std::vector<std::string> dims;
    if (const std::vector<int64_t> *shape = given(options.shapes, input.name()))
      for (int64_t size : *shape)
        dims.push_back(std::to_string(size));
    else
      for (const auto &dim : input.type().tensor_type().shape().dim())
        dims.push_back(dimText(dim, options));
    text += input.name() + "=" + llvm::join(dims, "x") + ";";
  }
  return text;
}
