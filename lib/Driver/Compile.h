//===- Compile.h - the whole route from model to artefact -------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace gaudi::driver {

/// Where to stop and print (DESIGN 2). Artifact = do not stop.
enum class Stage { Import, Graph, Kernels, Rt, Llvm, Obj, Artifact };

struct CompileOptions {
  std::string model;                                                 ///< path of an .onnx file
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;  ///< --shape
  std::vector<std::pair<std::string, int64_t>> dims;                 ///< --dim
  std::string targetCpu = "native";
  unsigned threads = 0;             ///< compile jobs, 0 = physical cores
  uint64_t memoryBudget = 0;        ///< bytes for weights + slab + scratch; 0 = none
  std::string externalRoot;         ///< --allow-external-root
  bool taps = false;                ///< every group result becomes an output `tap:<node>` (gaudi-run compare)
  std::function<void(const std::string &)> progress; ///< one line per step; empty = quiet
};

/// Figures of one compile, for the report line.
struct CompileStats {
  double importMs = 0, transformMs = 0, kernelMs = 0, writeMs = 0;
  unsigned groups = 0, kernels = 0; ///< launches, and distinct kernels behind them
  uint64_t weightBytes = 0, slabBytes = 0, lowerBound = 0;
};

/// Compiles to `artifactPath`, with packed weights inside.
Status compileToFile(const CompileOptions &options, const std::string &artifactPath, CompileStats &stats);

/// Runs the route up to `stage` (not Artifact) and prints it.
Status printStage(const CompileOptions &options, Stage stage, llvm::raw_ostream &out);

} // namespace gaudi::driver
