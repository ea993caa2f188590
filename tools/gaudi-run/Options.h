//===- Options.h - a parsed command line ------------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gaudi::run {

/// How a model becomes an opened artefact.
struct ModelOptions {
  std::string device;  ///< "" = the one it was compiled for
  std::string weights; ///< packed weights of a stripped artefact
  bool verifyFull = false;
  std::string cacheMode = "rw", cacheDir, cacheMaxSize; ///< passed on to gaudi-opt
  std::vector<std::string> shapes, dims; ///< passed on to gaudi-opt
  std::string targetCpu;
  bool taps = false; ///< an .onnx is compiled with its intermediate values as outputs
  unsigned threads = 0;
  uint64_t memoryBudget = 0;
  bool quiet = false; ///< nothing but errors from gaudi-opt
};

/// Tolerances; absent = by element type (Compare.h).
struct ToleranceOptions {
  std::optional<double> atol, rtol;
  bool nanEqual = true;
};

struct Options {
  enum class Command { None, Run, Bench, Compare, Inspect, Devices, Cache };
  Command command = Command::None;
  std::vector<std::string> models; ///< one; compare: one or two
  ModelOptions model;
  std::vector<std::string> devices; ///< compare with one model: two

  std::vector<std::string> inputs; ///< "name=value"
  std::string inputsDir;
  std::vector<std::string> outputs; ///< "name=@f.npy", "@all.npz", "name=-"
  std::vector<std::string> expects; ///< "name=@ref.npy"
  ToleranceOptions tolerance;
  bool checkNan = false;

  std::string warmup = "auto";
  std::string duration;    ///< "3s"; "" = by iterations, else 3 s
  uint64_t iterations = 0; ///< 0 = by duration (bench), 1 (run)
  unsigned concurrency = 1;
  std::string percentiles = "50,90,99";
  bool profile = false;
  std::string trace;

  std::string cacheVerb, cacheKey, cacheMaxSize = "5GiB";

  bool json = false;
  std::string jsonFile; ///< "" = stdout
  int verbosity = 1;    ///< 0 quiet, 1 normal, 2+ more
  std::string color = "auto";
  std::string timeout;
};

} // namespace gaudi::run
