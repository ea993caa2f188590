//===- Writer.h - writes .gdx files -----------------------------*- C++ -*-===//
//
// docs/formats/gdx.md is the specification of the bytes, runtime/load/Container.h their declaration.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gaudi/Status.h"
#include "runtime/load/WeightPack.h"
#include "runtime/schema/plan_generated.h"

#include <span>
#include <string>

namespace gaudi {

struct ArtifactParts {
  /// rodata_size is set from `rodata`; weights_digest is set when weights are embedded, else left as it is.
  schema::ProgramT *program = nullptr;
  std::span<const char> code;   ///< ELF shared object; empty if there is no kernel
  std::span<const char> rodata; ///< aligned as the buffers that lie in it want it, counted from its first byte
  /// Sources of program->pack: embeds the packed weights. Null = strips them (`writeWeights`, or pack on demand).
  const std::vector<pack::Source> *sources = nullptr;
  unsigned threads = 1; ///< for packing
};

/// Writes `path` through a temporary file beside it and a rename, so that nobody ever sees half an artefact. Weights
/// are packed straight into the file with at most 16 MiB of them in memory. The same parts give the same bytes. Errors:
/// Failed (cannot write), ResourceLimit (metadata of 64 MiB or more), InvalidInput (pack steps).
Status writeArtifact(const std::string &path, const ArtifactParts &parts);

/// Packs the weights into a file of their own, the same way, for OpenOptions::weightsPath. Sets program.weights_digest:
/// an artefact written afterwards is bound to these weights. Leave the digest empty for cache entries, which serve
/// every model of the same shape.
Status writeWeights(const std::string &path, schema::ProgramT &program, const std::vector<pack::Source> &sources,
                    unsigned threads = 1);

} // namespace gaudi
