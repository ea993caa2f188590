//===- Container.cpp - the bytes of a .gdx file ---------------------------===//
#include "runtime/load/Container.h"

#include "runtime/base/SafeMath.h"

#include <cstring>

using namespace gaudi;
using namespace gaudi::gdx;

static Status bad(std::string what, std::string hint = "the file is corrupt or incomplete; compile the model again") {
  return Status::error(StatusCode::BadArtifact, std::move(what), std::move(hint));
}

const char *gdx::nameOf(SegmentKind kind) {
  switch (kind) {
  case SegmentKind::Code: return "code";
  case SegmentKind::RoData: return "rodata";
  case SegmentKind::Weights: return "weights";
  }
  return "unknown";
}

Digest128 gdx::rootDigest(const Header &header, std::span<const std::byte> metadata, std::span<const std::byte> table) {
  Xxh3Stream stream;
  stream.update(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, rootDigest)));
  stream.update(metadata);
  stream.update(table);
  return stream.digest();
}

const Segment *Container::find(SegmentKind kind) const {
  for (const Segment &s : segments)
    if (s.kind == kind)
      return &s;
  return nullptr;
}

static Status checkHeader(const Header &h, uint64_t available) {
  if (std::memcmp(h.magic, kMagic, 3) != 0)
    return bad("not a .gdx artefact", "compile the model with gaudi-opt first");
  if (h.major != kMajor || h.magic[3] != kMagic[3])
    return bad("format " + std::to_string(h.major) + "." + std::to_string(h.minor) + ", this runtime reads " +
                   std::to_string(kMajor) + ".x",
               "compile the model again with the gaudi-opt of this version");
  if (h.requiredFeatures)
    return bad("needs container features this runtime does not know (bits " + std::to_string(h.requiredFeatures) + ")",
               "use a newer runtime");
  if (h.headerSize != sizeof(Header))
    return bad("header size is " + std::to_string(h.headerSize) + ", expected " + std::to_string(sizeof(Header)));
  if (h.fileSize > available)
    return bad("truncated at byte " + std::to_string(available) + " of " + std::to_string(h.fileSize));
  if (h.metadataSize > kMaxMetadataBytes)
    return bad("metadata of " + std::to_string(h.metadataSize) + " bytes is larger than the limit of 64 MiB");
  bool inside = h.metadataOffset >= sizeof(Header) && insideRange(h.metadataOffset, h.metadataSize, h.fileSize) &&
                h.segmentCount <= kMaxSegments &&
                insideRange(h.tableOffset, h.segmentCount * sizeof(Segment), h.fileSize) && h.tableOffset % 8 == 0 &&
                h.tableOffset >= sizeof(Header) && h.metadataOffset % 8 == 0;
  return inside ? Status() : bad("segment table invalid: offsets leave the file");
}

static Status checkSegments(std::span<const Segment> segments, uint64_t fileSize) {
  uint64_t lastEnd = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment &s = segments[i];
    std::string where = "segment table invalid: segment " + std::to_string(i);
    if (s.compression != 0 || s.storedSize != s.rawSize)
      return bad(where + " is compressed in a way this runtime does not know");
    if (!insideRange(s.offset, s.storedSize, fileSize))
      return bad(where + " leaves the file");
    if (s.offset % kSegmentAlign || s.offset < lastEnd)
      return bad(where + " overlaps another one or is not aligned");
    lastEnd = s.offset + s.storedSize;
  }
  return {};
}

Expected<Container> gdx::parseContainer(std::span<const std::byte> file) {
  if (file.empty())
    return bad("file is empty");
  Container c;
  if (file.size() < sizeof(Header))
    return bad("truncated at byte " + std::to_string(file.size()) + " of " + std::to_string(sizeof(Header)));
  std::memcpy(&c.header, file.data(), sizeof(Header));
  GAUDI_TRY(checkHeader(c.header, file.size()));
  c.file = file.first(c.header.fileSize);
  c.metadata = file.subspan(c.header.metadataOffset, c.header.metadataSize);
  auto table = file.subspan(c.header.tableOffset, c.header.segmentCount * sizeof(Segment));
  // Mapped files are page aligned and the table is at a multiple of 8 (checkHeader).
  c.segments = {reinterpret_cast<const Segment *>(table.data()), c.header.segmentCount};
  Digest128 digest = rootDigest(c.header, c.metadata, table);
  if (std::memcmp(digest.bytes.data(), c.header.rootDigest, 16) != 0)
    return bad("digest mismatch in the metadata; file is corrupt");
  GAUDI_TRY(checkSegments(c.segments, c.header.fileSize));
  return c;
}

Status gdx::verifySegment(const Container &container, const Segment &segment) {
  Digest128 digest = xxh3(container.bytes(segment));
  if (std::memcmp(digest.bytes.data(), segment.digest, 16) == 0)
    return {};
  size_t index = &segment - container.segments.data();
  return bad("digest mismatch in segment " + std::to_string(index) + " (" + nameOf(segment.kind) + "); file is corrupt");
}
