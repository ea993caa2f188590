//===- Resolve.h - from a model to an artefact ------------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "tools/gaudi-run/Options.h"

namespace gaudi::run {

/// Where the artefact of a model is and how it came to be.
struct ResolvedModel {
  std::string artifact, weights; ///< weights "" = inside
  std::string cache = "none";    ///< "hit", "miss", "off"; "none" for a .gdx
  std::string key;
  double compileMs = 0, savedMs = 0;
  bool temporary = false; ///< ours to delete once opened
};

/// A .gdx stands for itself; anything else is given to the sibling program gaudi-opt (or $GAUDI_OPT), which compiles it
/// through the cache. `shapes` are added to the user's --shape. Errors: Usage (no such file), Unsupported (no
/// gaudi-opt), those of gaudi-opt, which has printed them: message empty, code as its exit code.
Expected<ResolvedModel> resolveModel(const std::string &model, const ModelOptions &options,
                                     const std::vector<std::string> &shapes);

/// The command line given to gaudi-opt.
std::vector<std::string> compilerArguments(const std::string &compiler, const std::string &model,
                                           const ModelOptions &options, const std::vector<std::string> &shapes);

/// Reads gaudi-opt's line {"artifact": PATH, "weights": PATH, "cache": "hit", "key": HEX, "compile_ms": 1, ...};
/// unknown fields are skipped. Errors: Internal.
Expected<ResolvedModel> parseResolution(std::string_view line);

/// Deletes the private files of an uncached compile; those mapped stay usable. Nothing if not `temporary`.
void removeTemporary(const ResolvedModel &model);

/// "cache: hit 9f3a0c12 load 3.1 ms (saved 41.2 s)"; "" for a .gdx.
std::string describeCache(const ResolvedModel &model, double openMs);

} // namespace gaudi::run
