//===- Writer.h - writes .gdx files -----------------------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "runtime/load/WeightPack.h"
#include "runtime/schema/plan_generated.h"

#include <span>
#include <string>

namespace gaudi {

struct ArtifactParts {
  schema::ProgramT *program;             ///< weights_digest is filled in when weights are written
  std::span<const char> code;            ///< ELF shared object; empty if there is no kernel
  std::span<const char> rodata;
  const PackSources *sources = nullptr;  ///< null = strip the weights
};

/// Writes `path` through a temporary file beside it and a rename, so that nobody ever sees half an artefact. Weights are
/// packed straight into the file: at most one packed tensor is in memory.
/// Errors: Failed (cannot write), ResourceLimit (metadata over 64 MiB), those of packWeights.
Status writeArtifact(const std::string &path, const ArtifactParts &parts);

/// Packs the weights of a stripped artefact into a file of their own, the same way.
Status writeWeights(const std::string &path, const schema::ProgramT &program, const PackSources &sources);

} // namespace gaudi
