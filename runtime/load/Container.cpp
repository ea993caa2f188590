//===- Container.cpp - the bytes of a .gdx file ---------------------------===//
#include "runtime/load/Container.h"

#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cstring>

namespace gaudi::gdx {

static Status bad(std::string what, std::string hint = "the file is corrupt or incomplete; compile the model again") {
  return Status::error(StatusCode::BadArtifact, std::move(what), std::move(hint));
}

const char *nameOf(SegmentKind kind) {
  switch (kind) {
  case SegmentKind::Code:
    return "code";
  case SegmentKind::RoData:
    return "rodata";
  case SegmentKind::Weights:
    return "weights";
  }
  return "unknown";
}

Digest128 rootDigest(const Header &header, std::span<const std::byte> metadata, std::span<const std::byte> table) {
  Xxh3Stream stream;
  stream.update(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, rootDigest)));
  stream.update(metadata);
  stream.update(table);
  return stream.digest();
}

const Segment *Container::find(SegmentKind kind) const {
  for (const Segment &segment : segments)
    if (segment.kind == kind)
      return &segment;
  return nullptr;
}

static Status checkVersion(const Header &h) {
  if (std::memcmp(h.magic, kMagic, 3) != 0)
    return bad("not a .gdx artefact", "compile the model with gaudi-opt first");
  if (h.major != kMajor || h.magic[3] != kMagic[3])
    return bad(cat("format ", h.major, '.', h.minor, ", this runtime reads ", kMajor, ".x"),
               "compile the model again with the gaudi-opt of this version");
  if (h.requiredFeatures)
    return bad(cat("needs container features this runtime does not know (bits ", h.requiredFeatures, ")"),
               "use a newer runtime");
  if (h.headerSize != sizeof(Header))
    return bad(cat("header size is ", h.headerSize, ", expected ", sizeof(Header)));
  return {};
}

static Status checkHeader(const Header &h, uint64_t available) {
  GAUDI_TRY(checkVersion(h));
  if (h.fileSize > available)
    return bad(cat("truncated at byte ", available, " of ", h.fileSize));
  if (h.metadataSize >= kMaxMetadataBytes)
    return bad(cat("metadata of ", h.metadataSize, " bytes is not below the limit of 64 MiB"));
  if (h.segmentCount > kMaxSegments)
    return bad(cat("segment table invalid: ", h.segmentCount, " segments, at most ", kMaxSegments));
  if (!insideRange(h.metadataOffset, h.metadataSize, h.fileSize) ||
      !insideRange(h.tableOffset, h.segmentCount * sizeof(Segment), h.fileSize))
    return bad("segment table invalid: offsets leave the file");
  return {};
}

static Status checkSegment(const Segment &s, size_t index, uint64_t fileSize) {
  std::string where = cat("segment table invalid: segment ", index);
  if (s.compression != 0 || s.storedSize != s.rawSize)
    return bad(where + " is compressed in a way this runtime does not know");
  if (!insideRange(s.offset, s.storedSize, fileSize))
    return bad(where + " leaves the file");
  if (!isPowerOfTwo(s.align) || s.align < 64 || s.align > kSegmentAlign || s.offset % s.align)
    return bad(where + " is not aligned");
  return {};
}

/// Every byte of the file belongs to exactly one range or is zero padding of less than a page: what the digests do not
/// cover cannot hide anything, and every flipped bit is noticed.
static Status checkLayout(const Container &c, std::span<const std::byte> file) {
  struct Range {
    uint64_t begin, end;
  };
  std::vector<Range> ranges = {{0, sizeof(Header)},
                               {c.header.metadataOffset, c.header.metadataOffset + c.metadata.size()},
                               {c.header.tableOffset, c.header.tableOffset + c.segments.size() * sizeof(Segment)}};
  for (const Segment &segment : c.segments)
    ranges.push_back({segment.offset, segment.offset + segment.storedSize});
  ranges.push_back({c.header.fileSize, c.header.fileSize});
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end)
      return bad(cat("segment table invalid: bytes at ", ranges[i].begin, " are used twice"));
    uint64_t gap = ranges[i].begin - ranges[i - 1].end;
    auto bytes = file.subspan(ranges[i - 1].end, std::min(gap, kSegmentAlign));
    if (gap >= kSegmentAlign || std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; }))
      return bad(cat("segment table invalid: bytes at ", ranges[i - 1].end, " belong to nothing"));
  }
  return {};
}

static Status checkKinds(const std::vector<Segment> &segments) {
  for (size_t i = 0; i < segments.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (segments[i].kind == segments[j].kind)
        return bad(cat("segment table invalid: two segments of kind ", nameOf(segments[i].kind)));
  return {};
}

Expected<Container> parseContainer(std::span<const std::byte> file) {
  if (file.empty())
    return bad("file is empty");
  Container c;
  if (file.size() < sizeof(Header)) {
    if (file.size() >= 4 && std::memcmp(file.data(), kMagic, 4) != 0)
      return bad("not a .gdx artefact", "compile the model with gaudi-opt first");
    return bad(cat("truncated at byte ", file.size(), " of ", sizeof(Header)));
  }
  std::memcpy(&c.header, file.data(), sizeof(Header));
  GAUDI_TRY(checkHeader(c.header, file.size()));
  c.file = file.first(c.header.fileSize);
  auto metadata = file.subspan(c.header.metadataOffset, c.header.metadataSize);
  auto table = file.subspan(c.header.tableOffset, c.header.segmentCount * sizeof(Segment));
  c.metadata.assign(metadata.begin(), metadata.end());
  c.segments.resize(c.header.segmentCount);
  if (!table.empty())
    std::memcpy(c.segments.data(), table.data(), table.size());
  Digest128 digest = rootDigest(c.header, c.metadata, std::as_bytes(std::span(c.segments)));
  if (std::memcmp(digest.bytes.data(), c.header.rootDigest, 16) != 0)
    return bad("digest mismatch in the header, metadata or segment table; file is corrupt");
  for (size_t i = 0; i < c.segments.size(); ++i)
    GAUDI_TRY(checkSegment(c.segments[i], i, c.header.fileSize));
  GAUDI_TRY(checkKinds(c.segments));
  GAUDI_TRY(checkLayout(c, c.file));
  return c;
}

Status verifySegment(const Container &container, const Segment &segment) {
  Digest128 digest = xxh3(container.bytes(segment));
  if (std::memcmp(digest.bytes.data(), segment.digest, 16) == 0)
    return {};
  size_t index = static_cast<size_t>(&segment - container.segments.data());
  return bad(cat("digest mismatch in segment ", index, " (", nameOf(segment.kind), "); file is corrupt"));
}

} // namespace gaudi::gdx
