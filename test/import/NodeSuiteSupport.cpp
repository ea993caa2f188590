//===- NodeSuiteSupport.cpp - ONNX's own node tests as data ---------------===//
#include "test/import/NodeSuiteSupport.h"

#include "dialects/graph/Graph.h"
#include "lib/Import/Import.h"
#include "lib/Onnx/Proto.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>
#include <fstream>

using namespace gaudi;
using namespace gaudi::nodesuite;
using namespace mlir;
namespace fs = std::filesystem;

/// One recorded tensor, read by our own reader: the TensorProto becomes the only initializer of a model.
static std::optional<graph::HostTensor> readTensor(MLIRContext &context, const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  ::onnx::ModelProto wrapper;
  auto *opset = wrapper.add_opset_import();
  opset->set_version(13);
  auto *tensor = wrapper.mutable_graph()->add_initializer();
  if (!tensor->ParseFromIstream(&in))
    return std::nullopt;
  auto *output = wrapper.mutable_graph()->add_output();
  output->set_name(tensor->name());
  wrapper.set_ir_version(8);
  std::string bytes = wrapper.SerializeAsString();
  auto model = OnnxModel::parse(std::as_bytes(std::span(bytes)), path.string());
  if (!model.ok())
    return std::nullopt;
  auto module = importModel(context, *model);
  if (!module.ok())
    return std::nullopt;
  ModelWeights weights(model->weights());
  auto main = (*module)->lookupSymbol<func::FuncOp>("main");
  return graph::constantValue(main.getBody().front().getTerminator()->getOperand(0), &weights);
}

static bool readAll(MLIRContext &context, const fs::path &folder, StringRef prefix,
                    std::vector<graph::HostTensor> &tensors) {
  for (int i = 0;; ++i) {
    fs::path path = folder / (prefix + "_" + Twine(i) + ".pb").str();
    if (!fs::exists(path))
      return true;
    auto tensor = readTensor(context, path);
    if (!tensor)
      return false;
    tensors.push_back(std::move(*tensor));
  }
}

/// Moves the recorded integer inputs from position `first` on into the model; returns their positions.
static std::vector<size_t> bakeInputs(::onnx::ModelProto &model, const fs::path &folder, int first) {
  std::vector<size_t> baked;
  for (int i = first; i < model.graph().input_size(); ++i) {
    std::ifstream data(folder / ("input_" + std::to_string(i) + ".pb"), std::ios::binary);
    ::onnx::TensorProto tensor;
    bool isInteger = tensor.ParseFromIstream(&data) && (tensor.data_type() == ::onnx::TensorProto::INT64 ||
                                                        tensor.data_type() == ::onnx::TensorProto::INT32 ||
                                                        tensor.data_type() == ::onnx::TensorProto::BOOL);
    if (!isInteger || tensor.dims_size() > 1)
      continue;
    tensor.set_name(model.graph().input(i).name());
    *model.mutable_graph()->add_initializer() = tensor;
    baked.push_back(i);
  }
  return baked;
}

Expected<Case> nodesuite::readCase(MLIRContext &context, const fs::path &folder, Bake bake) {
  Case test;
  std::ifstream in(folder / "model.onnx", std::ios::binary);
  test.bytes.assign((std::istreambuf_iterator<char>(in)), {});
  ::onnx::ModelProto model;
  if (!model.ParseFromString(test.bytes))
    return Status::error(StatusCode::InvalidInput, "cannot parse the model");
  fs::path data = folder / "test_data_set_0";
  if (!readAll(context, data, "input", test.inputs) || !readAll(context, data, "output", test.outputs))
    return Status::error(StatusCode::InvalidInput, "cannot read the recorded tensors");
  for (const auto &input : model.graph().input())
    test.inputNames.push_back(input.name());
  test.inputNames.resize(std::min(test.inputNames.size(), test.inputs.size()));
  test.inputs.resize(test.inputNames.size());
  if (bake == Bake::None)
    return test;
  std::vector<size_t> baked = bakeInputs(model, data, bake == Bake::All ? 0 : 1);
  if (baked.empty())
    return Status::error(StatusCode::Unsupported, "no integer inputs");
  for (size_t position : llvm::reverse(baked))
    if (position < test.inputs.size()) {
      test.inputs.erase(test.inputs.begin() + position);
      test.inputNames.erase(test.inputNames.begin() + position);
    }
  test.bytes = model.SerializeAsString();
  return test;
}

static bool isClose(double found, double expected, double tolerance) {
  if (std::isnan(expected) || std::isinf(expected))
    return std::isnan(expected) ? std::isnan(found) : found == expected;
  return std::abs(found - expected) <= tolerance * std::abs(expected) + tolerance * 1e-3 + 1e-7;
}

std::string nodesuite::difference(const graph::HostTensor &found, const graph::HostTensor &expected) {
  if (found.shape != expected.shape)
    return "shapes differ";
  if (found.elementType != expected.elementType)
    return "types differ";
  auto describe = [](int64_t i, auto f, auto e) {
    return "element " + std::to_string(i) + " is " + std::to_string(f) + ", expected " + std::to_string(e);
  };
  double tolerance = expected.elementType.isBF16() ? 2e-2 : expected.elementType.isF16() ? 4e-3 : 1e-3;
  for (int64_t i = 0, n = expected.elementCount(); i < n; ++i) {
    if (!expected.isFloat() && found.ints()[i] != expected.ints()[i])
      return describe(i, found.ints()[i], expected.ints()[i]);
    if (expected.isFloat() && !isClose(found.asDouble(i), expected.asDouble(i), tolerance))
      return describe(i, found.asDouble(i), expected.asDouble(i));
  }
  return {};
}

Outcome nodesuite::compareAll(const std::vector<graph::HostTensor> &found,
                              const std::vector<graph::HostTensor> &expected) {
  if (found.size() != expected.size())
    return {Verdict::Fail, "number of outputs differs"};
  for (auto [i, pair] : llvm::enumerate(llvm::zip(found, expected)))
    if (std::string text = difference(std::get<0>(pair), std::get<1>(pair)); !text.empty())
      return {Verdict::Fail, "output " + std::to_string(i) + ": " + text};
  return {Verdict::Pass, ""};
}

Outcome nodesuite::outcomeOf(const Status &status) {
  return {status.code() == StatusCode::Unsupported ? Verdict::Unsupported : Verdict::Fail, status.message()};
}
