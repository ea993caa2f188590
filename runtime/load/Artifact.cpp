//===- Artifact.cpp - an opened and verified .gdx -------------------------===//
#include "runtime/load/Artifact.h"

#include "runtime/base/Text.h"

namespace gaudi {

static Status bad(std::string what, std::string hint) {
  return Status::error(StatusCode::BadArtifact, std::move(what), std::move(hint));
}

Expected<std::unique_ptr<Artifact>> Artifact::open(const std::string &path, const OpenOptions &options) {
  auto artifact = std::make_unique<Artifact>();
  if (Status status = artifact->load(path, options); !status.ok())
    return status;
  return artifact;
}

Status Artifact::load(const std::string &path, const OpenOptions &options) {
  Expected<MappedFile> mapped = MappedFile::open(path, {.beneath = {}, .errorCode = StatusCode::BadArtifact});
  if (!mapped.ok())
    return mapped.takeStatus();
  file = mapped.take();
  std::span<const std::byte> bytes = file.bytes();
  if (options.length) {
    if (options.length > bytes.size())
      return bad(cat(path, ": truncated at byte ", bytes.size(), " of ", options.length), "compile the model again");
    bytes = bytes.first(options.length);
  }
  Expected<gdx::Container> parsed = gdx::parseContainer(bytes);
  if (!parsed.ok())
    return parsed.takeStatus().annotate(path);
  container = parsed.take();
  Expected<const schema::Program *> program = verifiedProgram(container);
  if (!program.ok())
    return program.takeStatus().annotate(path);
  meta = *program;
  for (const gdx::Segment &segment : container.segments)
    if (segment.kind != gdx::SegmentKind::Weights || options.verify == VerifyLevel::Full)
      if (Status status = gdx::verifySegment(container, segment); !status.ok())
        return std::move(status).annotate(path);
  weightBytes = segment(gdx::SegmentKind::Weights);
  return {};
}

std::span<const std::byte> Artifact::segment(gdx::SegmentKind kind) const {
  const gdx::Segment *found = container.find(kind);
  return found ? container.bytes(*found) : std::span<const std::byte>();
}

Status Artifact::loadWeights(const OpenOptions &options) {
  uint64_t needed = meta->weights_size();
  if (!needed || !weightBytes.empty())
    return {};
  if (options.weightsPath.empty())
    return bad(cat(file.path(), ": compiled without weights (", needed, " bytes needed)"),
               "give the packed weights with --weights, or run the .onnx, which packs them");
  Expected<MappedFile> mapped =
      MappedFile::open(options.weightsPath, {.beneath = {}, .errorCode = StatusCode::BadArtifact});
  if (!mapped.ok())
    return mapped.takeStatus();
  weightsFile = mapped.take();
  const std::string &path = options.weightsPath;
  // Longer is fine: the cache keeps its record behind the weights.
  if (weightsFile.bytes().size() < needed)
    return bad(cat(path, ": packed weights are truncated (found ", weightsFile.bytes().size(), " bytes, expected ",
                   needed, ")"),
               "pack the weights again");
  std::span<const std::byte> bytes = weightsFile.bytes().first(needed);
  bool bound = meta->weights_digest() && meta->weights_digest()->size(); // not in cache entries
  if (options.verify == VerifyLevel::Full && bound && toHex(xxh3(bytes)) != meta->weights_digest()->string_view())
    return bad(cat(path, ": digest mismatch in the packed weights; file is corrupt or belongs to another model"),
               "pack the weights again");
  weightBytes = bytes;
  return {};
}

} // namespace gaudi
