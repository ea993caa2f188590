//===- NodeSuiteSupport.h - ONNX's own node tests as data -------*- C++ -*-===//
//
// The tests of onnx/backend/test/data/node (onnx 1.22: 1,765 folders with a model, recorded inputs and outputs), and
// the loop over them. What is done with a model is the caller's: NodeSuite.cpp evaluates the imported graph,
// test/e2e/NodeSuite.cpp compiles it for the CPU and runs it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/HostTensor.h"
#include "gaudi/Status.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringMap.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gaudi::nodesuite {

enum class Verdict { Pass, Unsupported, Fail };
struct Outcome {
  Verdict verdict;
  std::string reason;
};

/// One test: the model's bytes and what was recorded for it.
struct Case {
  std::string bytes;
  std::vector<graph::HostTensor> inputs; ///< of the arguments that are left, in order
  std::vector<std::string> inputNames;   ///< in step with `inputs`
  std::vector<graph::HostTensor> outputs;
};

/// Which recorded integer inputs (axes, shapes, k) become initializers, which is how exporters write them.
enum class Bake { None, AllButFirst, All };

/// Reads the test in `folder`. Errors: Unsupported if there is nothing to bake, InvalidInput.
Expected<Case> readCase(mlir::MLIRContext &context, const std::filesystem::path &folder, Bake bake);

/// "" if equal within the tolerance of ONNX's own runner (rtol 1e-3; 16-bit types get their own resolution; integers,
/// bool, NaN and infinities exactly), else the first difference.
std::string difference(const graph::HostTensor &found, const graph::HostTensor &expected);

/// Every difference of a list of outputs, or a failed number of them, as an outcome.
Outcome compareAll(const std::vector<graph::HostTensor> &found, const std::vector<graph::HostTensor> &expected);

/// The outcome that an error stands for.
Outcome outcomeOf(const Status &status);

/// Runs one case.
using Judge = std::function<Outcome(mlir::MLIRContext &, const Case &)>;

struct SuiteOptions {
  std::filesystem::path folder;
  llvm::StringMap<std::string> mustPass;   ///< names
  llvm::StringMap<std::string> exceptions; ///< names that may not pass yet, with the reason
  std::string only;                        ///< run the tests whose name contains this
  unsigned processes = 1;
};

/// Lines `NAME [# reason]`; empty lines and comments are skipped.
llvm::StringMap<std::string> readNames(const std::string &path);

/// Runs all tests of the folder in `processes` forked workers (a crash fails one test, not the suite), prints what
/// differs from the expectation and returns the exit code: 1 if a test of mustPass fails that is no exception, or an
/// exception passes.
int runSuite(const SuiteOptions &options, const Judge &judge);

} // namespace gaudi::nodesuite
