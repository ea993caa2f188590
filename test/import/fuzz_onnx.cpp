//===- fuzz_onnx.cpp - libFuzzer harness of the ONNX reader ---------------===//
#include "lib/Onnx/Proto.h"

using namespace gaudi;

/// Touches everything that the accessors promise to be valid.
static size_t useAll(const OnnxModel &model) {
  size_t sum = model.nodeOrder(&model.proto().graph()).size();
  for (const auto &tensor : model.proto().graph().initializer())
    for (std::byte b : model.literal(tensor).bytes)
      sum += static_cast<size_t>(b);
  return sum + model.weightsDigest().bytes[0] + model.skeletonDigest().bytes[0] + model.layoutDigest().bytes[0];
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Half of the mutations would be lost on the first byte otherwise: every model starts with its ir_version.
  std::string bytes("\x08\x08", 2);
  bytes.append(reinterpret_cast<const char *>(data), size);
  auto model = OnnxModel::parse(std::as_bytes(std::span(bytes)), "fuzz.onnx");
  volatile size_t sink = model.ok() ? useAll(*model) : model.status().message().size();
  (void)sink;
  return 0;
}

/// Without seeds the fuzzer would need minutes to find the shape of a model: one with most message kinds.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  if (size > 16 || seed % 16)
    return LLVMFuzzerMutate(data, size, maxSize);
  ::onnx::ModelProto model;
  model.add_opset_import()->set_version(17);
  auto &graph = *model.mutable_graph();
  auto *weight = graph.add_initializer();
  weight->set_name("w");
  weight->set_data_type(::onnx::TensorProto::FLOAT);
  weight->add_dims(300);
  weight->set_raw_data(std::string(1200, 'w'));
  auto *node = graph.add_node();
  node->set_op_type("If");
  node->add_input("w");
  node->add_output("y");
  auto *branch = node->add_attribute();
  branch->set_name("then_branch");
  auto *inner = branch->mutable_g()->add_node();
  inner->set_op_type("f");
  inner->add_input("w");
  inner->add_output("z");
  auto *constant = inner->add_attribute();
  constant->mutable_t()->set_data_type(::onnx::TensorProto::INT64);
  constant->mutable_t()->add_dims(1);
  constant->mutable_t()->add_int64_data(5);
  auto *function = model.add_functions();
  function->set_name("f");
  function->add_input("a");
  *function->add_node() = *inner;
  graph.add_output()->set_name("y");
  std::string bytes = model.SerializeAsString();
  size_t length = std::min(bytes.size(), maxSize);
  bytes.copy(reinterpret_cast<char *>(data), length);
  return length;
}
