//===- Writer.cpp - writes .gdx files -------------------------------------===//
#include "lib/Artifact/Writer.h"

#include "runtime/base/FileDescriptor.h"
#include "runtime/load/Container.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <vector>

using namespace gaudi;
using namespace gaudi::gdx;

namespace {

Status failed(const std::string &path, const char *what) {
  return Status::error(StatusCode::Failed, path + ": cannot " + what + ": " + std::strerror(errno),
                       "check that the folder exists, is writable and has room");
}

/// A file that becomes visible under its name only by commit(); removed otherwise.
class AtomicFile {
public:
  explicit AtomicFile(std::string path) : path(std::move(path)) {}
  ~AtomicFile() {
    if (fd.valid())
      unlink(temporary.c_str());
  }

  Status create() {
    temporary = path + ".XXXXXX";
    fd = FileDescriptor(mkostemp(temporary.data(), O_CLOEXEC));
    if (!fd.valid())
      return failed(path, "create");
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd.get(), 0666 & ~mask); // mkostemp makes files private
    return {};
  }

  Status append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return failed(path, "write");
      bytes = bytes.subspan(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
    }
    return {};
  }

  Status padTo(uint64_t align) {
    static const std::byte zeros[kSegmentAlign] = {};
    uint64_t rest = (align - offset % align) % align;
    return append({zeros, rest});
  }

  Status overwrite(uint64_t at, std::span<const std::byte> bytes) {
    if (pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(at)) != static_cast<ssize_t>(bytes.size()))
      return failed(path, "write");
    return {};
  }

  Status commit() {
    if (fd.reset() != 0 || rename(temporary.c_str(), path.c_str()) != 0) {
      Status s = failed(path, "finish");
      unlink(temporary.c_str());
      return s;
    }
    return {};
  }

  uint64_t offset = 0;

private:
  std::string path, temporary;
  FileDescriptor fd;
};

class ArtifactWriter {
public:
  ArtifactWriter(const std::string &path, const ArtifactParts &parts) : file(path), parts(parts) {}

  // Segments come first, metadata last: the weights' digest is only known after they were streamed.
  Status run() {
    GAUDI_TRY(file.create());
    GAUDI_TRY(file.append(std::as_bytes(std::span(&header, 1)))); // room; rewritten at the end
    if (!parts.code.empty())
      GAUDI_TRY(segment(SegmentKind::Code, std::as_bytes(parts.code)));
    if (!parts.rodata.empty())
      GAUDI_TRY(segment(SegmentKind::RoData, std::as_bytes(parts.rodata)));
    if (parts.sources && parts.program->weights_size)
      GAUDI_TRY(weights());
    GAUDI_TRY(metadataAndTable());
    return file.commit();
  }

private:
  Status segment(SegmentKind kind, std::span<const std::byte> bytes) {
    GAUDI_TRY(file.padTo(kSegmentAlign));
    add(kind, file.offset, bytes.size(), xxh3(bytes));
    return file.append(bytes);
  }

  Status weights() {
    GAUDI_TRY(file.padTo(kSegmentAlign));
    uint64_t start = file.offset;
    Xxh3Stream digest;
    GAUDI_TRY(packWeights(parts.program->pack, *parts.sources, parts.program->weights_size, [&](std::span<const std::byte> piece) {
      digest.update(piece);
      return file.append(piece);
    }));
    Digest128 value = digest.digest();
    parts.program->weights_digest = toHex(value);
    add(SegmentKind::Weights, start, file.offset - start, value);
    return {};
  }

  void add(SegmentKind kind, uint64_t offset, uint64_t size, const Digest128 &digest) {
    Segment s{kind, 0, offset, size, size, kSegmentAlign, {}};
    std::memcpy(s.digest, digest.bytes.data(), 16);
    table.push_back(s);
  }

  Status metadataAndTable() {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(schema::Program::Pack(builder, parts.program), schema::ProgramIdentifier());
    if (builder.GetSize() > kMaxMetadataBytes)
      return Status::error(StatusCode::ResourceLimit, "artefact metadata is larger than 64 MiB (" +
                                                          std::to_string(builder.GetSize() >> 20) + " MiB)");
    std::span<const std::byte> metadata(reinterpret_cast<const std::byte *>(builder.GetBufferPointer()), builder.GetSize());
    GAUDI_TRY(file.padTo(64));
    std::memcpy(header.magic, kMagic, 4);
    header.major = kMajor;
    header.minor = kMinor;
    header.headerSize = sizeof(Header);
    header.metadataOffset = file.offset;
    header.metadataSize = metadata.size();
    GAUDI_TRY(file.append(metadata));
    GAUDI_TRY(file.padTo(8));
    header.tableOffset = file.offset;
    header.segmentCount = static_cast<uint32_t>(table.size());
    auto tableBytes = std::as_bytes(std::span(table));
    GAUDI_TRY(file.append(tableBytes));
    header.fileSize = file.offset;
    std::memcpy(header.rootDigest, rootDigest(header, metadata, tableBytes).bytes.data(), 16);
    return file.overwrite(0, std::as_bytes(std::span(&header, 1)));
  }

  AtomicFile file;
  const ArtifactParts &parts;
  Header header{};
  std::vector<Segment> table;
};

} // namespace

Status gaudi::writeArtifact(const std::string &path, const ArtifactParts &parts) { return ArtifactWriter(path, parts).run(); }

Status gaudi::writeWeights(const std::string &path, const schema::ProgramT &program, const PackSources &sources) {
  AtomicFile file(path);
  GAUDI_TRY(file.create());
  GAUDI_TRY(packWeights(program.pack, sources, program.weights_size, [&](std::span<const std::byte> piece) { return file.append(piece); }));
  return file.commit();
}
