//===- NodeSuite.cpp - ONNX's own node tests through import and evaluator -===//
//
//   node-suite FOLDER EXPECTED    FOLDER: onnx/backend/test/data/node of the onnx wheel (1.22: 1,765 tests)
//
// Imports each model, evaluates the graph module in fp64 and compares with the recorded outputs. What a rule says about
// an operator is thus judged by ONNX's reference implementation. EXPECTED lists the tests that must pass, one a line;
// a test that passes without being listed is reported, so that the list grows.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"
#include "lib/Import/Import.h"
#include "lib/Onnx/Proto.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

using namespace gaudi;
using namespace mlir;
namespace fs = std::filesystem;

namespace {

enum class Verdict { Pass, Unsupported, Fail };
struct Outcome {
  Verdict verdict;
  std::string reason;
};

/// One recorded tensor, read by our own reader: the TensorProto becomes the only initializer of a model.
std::optional<graph::HostTensor> readTensor(MLIRContext &context, const fs::path &path) {
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

std::optional<SmallVector<graph::HostTensor>> readAll(MLIRContext &context, const fs::path &folder, StringRef prefix) {
  SmallVector<graph::HostTensor> tensors;
  for (int i = 0;; ++i) {
    fs::path path = folder / (prefix + "_" + Twine(i) + ".pb").str();
    if (!fs::exists(path))
      return tensors;
    auto tensor = readTensor(context, path);
    if (!tensor)
      return std::nullopt;
    tensors.push_back(std::move(*tensor));
  }
}

bool isClose(double found, double expected, double tolerance) {
  if (std::isnan(expected) || std::isinf(expected))
    return std::isnan(expected) ? std::isnan(found) : found == expected;
  return std::abs(found - expected) <= tolerance * std::abs(expected) + tolerance * 1e-3 + 1e-7;
}

/// rtol 1e-3 as in onnx/backend/test/runner; 16-bit types get their own resolution.
std::string difference(const graph::HostTensor &found, const graph::HostTensor &expected) {
  if (found.shape != expected.shape)
    return "shapes differ";
  if (found.elementType != expected.elementType)
    return "types differ";
  double tolerance = expected.elementType.isBF16() ? 2e-2 : expected.elementType.isF16() ? 4e-3 : 1e-3;
  for (int64_t i = 0, n = expected.elementCount(); i < n; ++i)
    if (!isClose(found.asDouble(i), expected.asDouble(i), tolerance))
      return "element " + std::to_string(i) + " is " + std::to_string(found.asDouble(i)) + ", expected " +
             std::to_string(expected.asDouble(i));
  return {};
}

/// The model's bytes; with `bake`, recorded integer inputs after the first (axes, shapes, k) become initializers, which
/// is how exporters write them. `baked` receives their positions.
std::optional<std::string> modelBytes(const fs::path &folder, bool bake, SmallVectorImpl<int> &baked) {
  std::ifstream in(folder / "model.onnx", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  ::onnx::ModelProto model;
  if (!bake)
    return bytes;
  if (!model.ParseFromString(bytes))
    return std::nullopt;
  for (int i = 1; i < model.graph().input_size(); ++i) {
    std::ifstream data(folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb"), std::ios::binary);
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
  return baked.empty() ? std::nullopt : std::optional(model.SerializeAsString());
}

Outcome runTest(MLIRContext &context, const fs::path &folder, bool bake) {
  SmallVector<int> baked;
  auto bytes = modelBytes(folder, bake, baked);
  if (!bytes)
    return {Verdict::Unsupported, "no integer inputs"};
  auto model = OnnxModel::parse(std::as_bytes(std::span(*bytes)), "model.onnx");
  if (!model.ok())
    return {model.status().code() == StatusCode::Unsupported ? Verdict::Unsupported : Verdict::Fail,
            model.status().message()};
  auto module = importModel(context, *model);
  if (!module.ok())
    return {module.status().code() == StatusCode::Unsupported ? Verdict::Unsupported : Verdict::Fail,
            module.status().message()};
  auto inputs = readAll(context, folder / "test_data_set_0", "input");
  auto expected = readAll(context, folder / "test_data_set_0", "output");
  if (!inputs || !expected)
    return {Verdict::Fail, "cannot read the recorded tensors"};

  auto main = (*module)->lookupSymbol<func::FuncOp>("main");
  for (int position : llvm::reverse(baked))
    if (position < static_cast<int>(inputs->size()))
      inputs->erase(inputs->begin() + position);
  if (inputs->size() < main.getNumArguments())
    return {Verdict::Fail, "has fewer recorded inputs than arguments"};
  inputs->truncate(main.getNumArguments());
  ModelWeights weights(model->weights());
  SmallVector<graph::HostTensor> results;
  std::string diagnostic;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) { return diagnostic = d.str(), success(); });
  if (failed(graph::evaluateRegion(main.getBody(), *inputs, results, &weights)))
    return {Verdict::Fail, "evaluation failed: " + diagnostic};
  if (results.size() != expected->size())
    return {Verdict::Fail, "number of outputs differs"};
  for (auto [found, wanted] : llvm::zip(results, *expected))
    if (std::string text = difference(found, wanted); !text.empty())
      return {Verdict::Fail, text};
  return {Verdict::Pass, ""};
}

llvm::StringSet<> readLines(const char *path) {
  llvm::StringSet<> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#')
      lines.insert(line);
  return lines;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: node-suite FOLDER EXPECTED\n";
    return 2;
  }
  llvm::StringSet<> mustPass = readLines(argv[2]);
  std::vector<fs::path> folders;
  for (const auto &entry : fs::directory_iterator(argv[1]))
    folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());

  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadImportDialects(context);
  int counts[3] = {}, missing = 0;
  for (const fs::path &folder : folders) {
    std::string name = folder.filename().string();
    Outcome outcome = runTest(context, folder, /*bake=*/false);
    if (outcome.verdict == Verdict::Unsupported)
      outcome = runTest(context, folder, /*bake=*/true);
    ++counts[static_cast<int>(outcome.verdict)];
    bool isExpected = mustPass.contains(name);
    missing += isExpected && outcome.verdict != Verdict::Pass;
    const char *label = outcome.verdict == Verdict::Pass   ? (isExpected ? nullptr : "NEW PASS")
                        : isExpected                       ? "FAIL"
                        : outcome.verdict == Verdict::Fail ? "fail (not listed)"
                                                           : nullptr;
    if (label)
      llvm::outs() << label << ": " << name << ": " << StringRef(outcome.reason).split('\n').first << "\n";
  }
  llvm::outs() << counts[0] << " pass, " << counts[1] << " unsupported, " << counts[2] << " fail; " << missing
               << " listed tests do not pass\n";
  return missing != 0;
}
