//===- NodeSuite.cpp - ONNX's own node tests through the CPU target -------===//
//
//   cpu-node-suite FOLDER EXPECTED EXCEPTIONS [NAME]
//
// Each model is compiled by the driver to an artefact, which the runtime loads and runs; the outputs are compared with
// the recorded ones. FOLDER and EXPECTED are those of test/import/NodeSuite.cpp: what the evaluator can do the CPU must
// do, but for EXCEPTIONS, lines `NAME # reason`. A test that passes without being listed, or as an exception, is
// reported.
//
//===----------------------------------------------------------------------===//
#include "gaudi/Runtime.h"
#include "lib/Driver/Compile.h"
#include "lib/Driver/Names.h"
#include "lib/Onnx/Model.h"
#include "test/import/NodeSuiteSupport.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

#include <thread>

using namespace gaudi;
using namespace gaudi::nodesuite;
using namespace mlir;

namespace {

Status compileCase(const Case &test, const std::string &path) {
  auto model = OnnxModel::parse(std::as_bytes(std::span(test.bytes)), "model.onnx");
  if (!model.ok())
    return model.takeStatus();
  driver::CompileOptions options;
  options.model = "model.onnx";
  options.threads = 1;
  for (auto [name, tensor] : llvm::zip(test.inputNames, test.inputs))
    options.shapes.push_back({name, {tensor.shape.begin(), tensor.shape.end()}});
  driver::CompileStats stats;
  return driver::compileToFile(*model, options, driver::Weights::Embed, path, stats);
}

/// "" if the signature is that of the recorded tensors.
std::string signatureError(const char *what, const std::vector<TensorSpec> &specs,
                           const std::vector<graph::HostTensor> &tensors) {
  if (specs.size() != tensors.size())
    return std::string("number of ") + what + " differs";
  for (auto [spec, tensor] : llvm::zip(specs, tensors)) {
    if (ArrayRef<int64_t>(spec.shape) != ArrayRef<int64_t>(tensor.shape))
      return what + (" '" + spec.name + "': shapes differ");
    if (spec.dtype != driver::dtypeOf(tensor.elementType))
      return what + (" '" + spec.name + "': types differ");
  }
  return {};
}

std::vector<TensorView> viewsOf(std::vector<std::vector<char>> &buffers) {
  std::vector<TensorView> views;
  for (auto &buffer : buffers)
    views.push_back({buffer.data(), buffer.size()});
  return views;
}

Outcome execute(const std::string &path, const Case &test) {
  auto executable = Executable::open(path, {});
  if (!executable.ok())
    return outcomeOf(executable.status());
  for (const std::string &error : {signatureError("input", (*executable)->inputs(), test.inputs),
                                   signatureError("output", (*executable)->outputs(), test.outputs)})
    if (!error.empty())
      return {Verdict::Fail, error};
  ContextOptions threads;
  threads.threads = 1;
  auto context = (*executable)->createContext(threads);
  if (!context.ok())
    return outcomeOf(context.status());
  std::vector<std::vector<char>> inputs, outputs;
  for (const graph::HostTensor &tensor : test.inputs)
    inputs.push_back(tensor.toBytes());
  for (const TensorSpec &spec : (*executable)->outputs())
    outputs.emplace_back(spec.sizeBytes(), '\xaa'); // what a kernel forgets to write must not look right by chance
  if (Status status = (*context)->run(viewsOf(inputs), viewsOf(outputs)); !status.ok())
    return outcomeOf(status);
  std::vector<graph::HostTensor> found;
  for (auto [bytes, expected] : llvm::zip(outputs, test.outputs))
    found.push_back(graph::HostTensor::fromBytes(expected.type(), bytes));
  return compareAll(found, test.outputs);
}

Outcome compileAndRun(MLIRContext &, const Case &test) {
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("gaudi-node", "gdx", path))
    return {Verdict::Fail, "cannot make a temporary file"};
  llvm::FileRemover remover(path);
  if (Status status = compileCase(test, std::string(path)); !status.ok())
    return outcomeOf(status); // a shape that depends on a value is unsupported: the suite tries again with it baked in
  return execute(std::string(path), test);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5) {
    llvm::errs() << "usage: cpu-node-suite FOLDER EXPECTED EXCEPTIONS [NAME]\n";
    return 2;
  }
  SuiteOptions options;
  options.folder = argv[1];
  options.mustPass = readNames(argv[2]);
  options.exceptions = readNames(argv[3]);
  options.only = argc > 4 ? argv[4] : "";
  options.processes = std::max(1u, std::thread::hardware_concurrency());
  return runSuite(options, compileAndRun);
}
