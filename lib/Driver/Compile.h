//===- Compile.h - the whole route from model to artefact -------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace gaudi {
class OnnxModel;
}

namespace gaudi::driver {

/// Where to stop and print (DESIGN 2). Artifact = do not stop.
enum class Stage { Import, Graph, Kernels, Rt, Llvm, Obj, Artifact };

struct CompileOptions {
  std::string model;                                                ///< path of an .onnx file
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes; ///< --shape
  std::vector<std::pair<std::string, int64_t>> dims;                ///< --dim
  std::string device = "cpu";                                       ///< --target
  std::string targetCpu = "native";                                 ///< --target-cpu
  bool taps = false;                                 ///< --taps: named intermediate values become outputs (Taps.h)
  unsigned threads = 0;                              ///< compile jobs and expected workers, 0 = physical cores
  uint64_t memoryBudget = 0;                         ///< bytes for the slab; 0 = none
  std::string externalRoot;                          ///< --allow-external-root
  std::function<void(const std::string &)> progress; ///< one line per step; empty = quiet
  /// Second-level cache: object code by kernel text.
  std::function<std::optional<std::vector<char>>(const std::string &)> getObject;
  std::function<void(const std::string &, const std::vector<char> &)> putObject;
};

/// Figures of one compile, for the report line.
struct CompileStats {
  double importMs = 0, transformMs = 0, kernelMs = 0, planMs = 0, writeMs = 0;
  unsigned groups = 0, kernels = 0, compiled = 0; ///< launches, distinct kernels, those not from the cache
  uint64_t weightBytes = 0, slabBytes = 0, lowerBound = 0;
};

/// Whether the artefact carries its weights.
enum class Weights { Embed, Strip };

/// Compiles `model` (already read from options.model) to `path`.
Status compileToFile(const OnnxModel &model, const CompileOptions &options, Weights weights, const std::string &path,
                     CompileStats &stats);

/// What decides the bytes of packWeightsFile, but for the model's weights: equal text, equal file.
Expected<std::string> packRecipe(const std::string &artifact);

/// Packs the weights of a stripped artefact at `artifact` into `path`.
Status packWeightsFile(const OnnxModel &model, const std::string &artifact, const std::string &path);

/// Runs the route up to `stage` (not Artifact) and prints it: MLIR, LLVM IR, or for Obj the code segment's bytes.
Status printStage(const OnnxModel &model, const CompileOptions &options, Stage stage, llvm::raw_ostream &out);

/// Fields of the cache key with their values, in the order of knowledge/runtime.md 1.3 (weights' bytes are not in it).
std::vector<std::pair<std::string, std::string>> keyComponents(const OnnxModel &model, const CompileOptions &options);

} // namespace gaudi::driver
