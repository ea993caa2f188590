//===- Writer.cpp - writes .gdx files -------------------------------------===//
#include "lib/Artifact/Writer.h"

#include "lib/Artifact/AtomicFile.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Text.h"
#include "runtime/load/Container.h"

#include <cstring>
#include <vector>

namespace gaudi {

using namespace gdx;

static std::span<const std::byte> bytesOf(const Header &header) { return std::as_bytes(std::span(&header, 1)); }

/// Packs into `file` and returns the digest of the packed bytes.
static Expected<Digest128> streamWeights(AtomicFile &file, const schema::ProgramT &program,
                                         const std::vector<pack::Source> &sources, unsigned threads) {
  Expected<pack::Packer> packer = pack::Packer::create(program.pack, sources, program.weights_size);
  if (!packer.ok())
    return packer.takeStatus();
  Xxh3Stream digest;
  auto sink = [&](std::span<const std::byte> piece) {
    digest.update(piece);
    return file.append(piece);
  };
  GAUDI_TRY(pack::packTo(*packer, sink, threads));
  return digest.digest();
}

namespace {

class ArtifactWriter {
public:
  ArtifactWriter(const std::string &path, const ArtifactParts &parts)
      : file(path), parts(parts), program(*parts.program) {}

  /// Segments come first, metadata last: the weights' digest is only known after they were streamed.
  Status run() {
    program.rodata_size = parts.rodata.size();
    GAUDI_TRY(file.create());
    GAUDI_TRY(file.append(bytesOf(header))); // room; rewritten at the end
    if (!parts.code.empty())
      GAUDI_TRY(addSegment(SegmentKind::Code, std::as_bytes(parts.code)));
    if (!parts.rodata.empty())
      GAUDI_TRY(addSegment(SegmentKind::RoData, std::as_bytes(parts.rodata)));
    if (parts.sources && program.weights_size)
      GAUDI_TRY(addWeights());
    GAUDI_TRY(addMetadata());
    GAUDI_TRY(addTable());
    GAUDI_TRY(finishHeader());
    return file.commit();
  }

private:
  Status addSegment(SegmentKind kind, std::span<const std::byte> bytes) {
    GAUDI_TRY(file.padTo(kSegmentAlign));
    addRow(kind, file.sizeBytes(), bytes.size(), xxh3(bytes));
    return file.append(bytes);
  }

  Status addWeights() {
    GAUDI_TRY(file.padTo(kSegmentAlign));
    uint64_t begin = file.sizeBytes();
    Expected<Digest128> digest = streamWeights(file, program, *parts.sources, parts.threads);
    if (!digest.ok())
      return digest.takeStatus();
    program.weights_digest = toHex(*digest);
    addRow(SegmentKind::Weights, begin, file.sizeBytes() - begin, *digest);
    return {};
  }

  void addRow(SegmentKind kind, uint64_t offset, uint64_t size, const Digest128 &digest) {
    Segment row{kind, 0, offset, size, size, kSegmentAlign, {}};
    std::memcpy(row.digest, digest.bytes.data(), 16);
    table.push_back(row);
  }

  Status addMetadata() {
    // flatbuffers 2.0.8 aborts or wraps past 2 GiB, so refuse before it starts (each string and row counts its bytes).
    if (estimateBytes() >= kMaxMetadataBytes)
      return tooLarge(estimateBytes());
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(schema::Program::Pack(builder, &program), schema::ProgramIdentifier());
    if (builder.GetSize() >= kMaxMetadataBytes)
      return tooLarge(builder.GetSize());
    const auto *begin = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
    metadata.assign(begin, begin + builder.GetSize());
    GAUDI_TRY(file.padTo(64));
    header.metadataOffset = file.sizeBytes();
    header.metadataSize = metadata.size();
    return file.append(metadata);
  }

  /// A lower bound of the metadata's size from its long lists.
  uint64_t estimateBytes() const {
    uint64_t bytes = program.pack.size() * sizeof(schema::PackStep) + program.sources.size() * 48;
    for (const auto &entry : program.entries)
      bytes += entry->buffers.size() * sizeof(schema::Buffer) + entry->launches.size() * sizeof(schema::Launch) +
               entry->args.size() * 4;
    for (const auto &info : program.infos)
      bytes += info->name.size() + 32;
    return bytes;
  }

  static Status tooLarge(uint64_t bytes) {
    return Status::error(StatusCode::ResourceLimit,
                         cat("artefact metadata of ", formatBytes(bytes), " is not below the limit of 64 MiB"),
                         "compile fewer shapes into one artefact");
  }

  Status addTable() {
    GAUDI_TRY(file.padTo(8));
    header.tableOffset = file.sizeBytes();
    header.segmentCount = static_cast<uint32_t>(table.size());
    return file.append(std::as_bytes(std::span(table)));
  }

  Status finishHeader() {
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.major = kMajor;
    header.minor = kMinor;
    header.headerSize = sizeof(Header);
    header.fileSize = file.sizeBytes();
    Digest128 digest = rootDigest(header, metadata, std::as_bytes(std::span(table)));
    std::memcpy(header.rootDigest, digest.bytes.data(), 16);
    return file.overwrite(0, bytesOf(header));
  }

  AtomicFile file;
  const ArtifactParts &parts;
  schema::ProgramT &program;
  Header header{};
  std::vector<Segment> table;
  std::vector<std::byte> metadata;
};

} // namespace

Status writeArtifact(const std::string &path, const ArtifactParts &parts) { return ArtifactWriter(path, parts).run(); }

Status writeWeights(const std::string &path, schema::ProgramT &program, const std::vector<pack::Source> &sources,
                    unsigned threads) {
  AtomicFile file(path);
  GAUDI_TRY(file.create());
  Expected<Digest128> digest = streamWeights(file, program, sources, threads);
  if (!digest.ok())
    return digest.takeStatus();
  program.weights_digest = toHex(*digest);
  return file.commit();
}

} // namespace gaudi
