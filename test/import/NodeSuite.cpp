//===- NodeSuite.cpp - ONNX's own node tests through import and evaluator -===//
//
//   node-suite FOLDER EXPECTED [NAME]    FOLDER: onnx/backend/test/data/node of the onnx wheel (1.22: 1,765 tests)
//
// Imports each model, evaluates the graph module in fp64 and compares with the recorded outputs. What a rule says about
// an operator is thus judged by ONNX's reference implementation. EXPECTED lists the tests that must pass, one a line;
// a test that passes without being listed is reported, so that the list grows. NAME selects tests by a part of the
// name.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"
#include "lib/Import/Import.h"
#include "test/import/NodeSuiteSupport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

using namespace gaudi;
using namespace gaudi::nodesuite;
using namespace mlir;

static Outcome evaluate(MLIRContext &context, const Case &test) {
  auto model = OnnxModel::parse(std::as_bytes(std::span(test.bytes)), "model.onnx");
  if (!model.ok())
    return outcomeOf(model.status());
  auto module = importModel(context, *model);
  if (!module.ok())
    return outcomeOf(module.status());
  auto main = (*module)->lookupSymbol<func::FuncOp>("main");
  if (test.inputs.size() < main.getNumArguments())
    return {Verdict::Fail, "has fewer recorded inputs than arguments"};
  ArrayRef<graph::HostTensor> inputs(test.inputs);
  ModelWeights weights(model->weights());
  SmallVector<graph::HostTensor> results;
  std::string diagnostic;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) { return diagnostic = d.str(), success(); });
  if (failed(graph::evaluateRegion(main.getBody(), inputs.take_front(main.getNumArguments()), results, &weights)))
    return {Verdict::Fail, "evaluation failed: " + diagnostic};
  return compareAll({results.begin(), results.end()}, test.outputs);
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) {
    llvm::errs() << "usage: node-suite FOLDER EXPECTED [NAME]\n";
    return 2;
  }
  SuiteOptions options;
  options.folder = argv[1];
  options.mustPass = readNames(argv[2]);
  options.only = argc > 3 ? argv[3] : "";
  return runSuite(options, evaluate);
}
