//===- Container.h - the bytes of a .gdx file -------------------*- C++ -*-===//
//
// docs/formats/gdx.md is the specification. Little-endian; the structs are the bytes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gaudi/Status.h"
#include "runtime/base/Hash.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gaudi::gdx {

inline constexpr char kMagic[4] = {'G', 'D', 'X', '\x01'};
inline constexpr uint8_t kMajor = 1, kMinor = 0;
inline constexpr uint64_t kMaxMetadataBytes = 64ull << 20; ///< flatbuffers 2.0.8 aborts or wraps past 2 GiB
inline constexpr uint64_t kSegmentAlign = 4096;            ///< segments can be mapped
inline constexpr uint32_t kMaxSegments = 64;

struct Header {
  char magic[4];
  uint8_t major, minor;
  uint16_t headerSize;
  uint32_t requiredFeatures; ///< bits a reader must know; none defined yet
  uint32_t segmentCount;
  uint64_t metadataOffset, metadataSize;
  uint64_t tableOffset;
  uint64_t fileSize; ///< bytes behind it are not ours (the cache keeps its record there)
  uint8_t rootDigest[16];
};
static_assert(sizeof(Header) == 64);

enum class SegmentKind : uint32_t { Code = 1, RoData = 2, Weights = 3 };

struct Segment {
  SegmentKind kind;
  uint32_t compression; ///< 0 = none
  uint64_t offset, storedSize, rawSize, align;
  uint8_t digest[16]; ///< xxh3-128 of the stored bytes
};
static_assert(sizeof(Segment) == 56);

/// xxh3-128 over the header without its digest, the metadata, and the segment table.
Digest128 rootDigest(const Header &header, std::span<const std::byte> metadata, std::span<const std::byte> table);

/// A container whose structure has been checked: every range lies inside the file, nothing overlaps, what is between
/// them is zero, the root digest holds. Metadata and table are copies, so they stay as they were verified even if
/// another process writes to the mapped file; segments point into the caller's bytes.
struct Container {
  Header header;
  std::vector<std::byte> metadata;
  std::vector<Segment> segments;
  std::span<const std::byte> file;

  const Segment *find(SegmentKind kind) const;
  std::span<const std::byte> bytes(const Segment &segment) const {
    return file.subspan(segment.offset, segment.storedSize);
  }
};

/// Errors: BadArtifact, in the words of knowledge/runtime.md 6.3 rows 37-40.
Expected<Container> parseContainer(std::span<const std::byte> file);

/// "code", "rodata", "weights".
const char *nameOf(SegmentKind kind);

/// BadArtifact if the segment's bytes do not have its digest.
Status verifySegment(const Container &container, const Segment &segment);

} // namespace gaudi::gdx
