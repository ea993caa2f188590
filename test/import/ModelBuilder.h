//===- ModelBuilder.h - small models for tests of the reader ----*- C++ -*-===//
#pragma once

#include "lib/Onnx/Proto.h"

#include <gtest/gtest.h>

namespace gaudi::test {

/// A model of opset 17 without inputs; tests add what they are about.
inline ::onnx::ModelProto emptyModel() {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->set_name("g");
  return model;
}

inline ::onnx::NodeProto *addNode(::onnx::GraphProto &graph, const char *name, const char *op,
                                  std::initializer_list<const char *> inputs,
                                  std::initializer_list<const char *> outputs) {
  auto *node = graph.add_node();
  node->set_name(name);
  node->set_op_type(op);
  for (const char *input : inputs)
    node->add_input(input);
  for (const char *output : outputs)
    node->add_output(output);
  return node;
}

/// An f32 initializer with shape and no data yet.
inline ::onnx::TensorProto *addTensor(::onnx::ModelProto &model, const char *name, std::initializer_list<int64_t> dims,
                                      int32_t type = ::onnx::TensorProto::FLOAT) {
  auto *tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  for (int64_t dim : dims)
    tensor->add_dims(dim);
  return tensor;
}

/// A parsed model together with the bytes it refers to.
struct Parsed {
  std::unique_ptr<const std::string> bytes; ///< on the heap: the model holds spans into it
  Expected<OnnxModel> model;
};

inline Parsed parse(std::string bytes, const std::string &folder = {}, const ReadOptions &options = {}) {
  auto owned = std::make_unique<const std::string>(std::move(bytes));
  auto model = OnnxModel::parse(std::as_bytes(std::span(*owned)), "m.onnx", folder, options);
  return {std::move(owned), std::move(model)};
}
inline Parsed parse(const ::onnx::ModelProto &model, const std::string &folder = {}, const ReadOptions &options = {}) {
  return parse(model.SerializeAsString(), folder, options);
}

/// The message without the model's path in front, which every error of the reader has.
inline std::string errorOf(const Parsed &parsed) {
  if (parsed.model.ok())
    return "ok";
  const std::string &message = parsed.model.status().message();
  EXPECT_TRUE(message.starts_with("m.onnx: ")) << message;
  return message.substr(8);
}

} // namespace gaudi::test
