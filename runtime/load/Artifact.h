//===- Artifact.h - an opened and verified .gdx -----------------*- C++ -*-===//
#pragma once

#include "gaudi/Runtime.h"
#include "runtime/base/MappedFile.h"
#include "runtime/load/Container.h"
#include "runtime/load/Program.h"

#include <memory>

namespace gaudi {

/// An artefact on disk after every check that does not depend on the device: container, digests, program. Owns the
/// mappings; everything it returns lives as long as it does. Immutable and thread-safe.
class Artifact {
public:
  /// Errors: BadArtifact for whatever is wrong with the file, Usage if there is none, ResourceLimit if it cannot be
  /// mapped. Never runs code of the artefact.
  static Expected<std::unique_ptr<Artifact>> open(const std::string &path, const OpenOptions &options);

  const schema::Program &program() const { return *meta; }
  /// Bytes of a segment; empty if there is none.
  std::span<const std::byte> segment(gdx::SegmentKind kind) const;
  std::span<const std::byte> code() const { return segment(gdx::SegmentKind::Code); }
  std::span<const std::byte> rodata() const { return segment(gdx::SegmentKind::RoData); }
  /// Packed weights, embedded or from OpenOptions.weightsPath. Empty until loadWeights() for stripped artefacts.
  std::span<const std::byte> weights() const { return weightBytes; }
  /// Size of the artefact in the file, from its header.
  uint64_t sizeBytes() const { return container.header.fileSize; }

  /// Finds and checks the weights; apart from open() because `info` and repacking work without them.
  Status loadWeights(const OpenOptions &options);

private:
  Status load(const std::string &path, const OpenOptions &options);

  MappedFile file, weightsFile;
  gdx::Container container;
  const schema::Program *meta = nullptr;
  std::span<const std::byte> weightBytes;
};

} // namespace gaudi
