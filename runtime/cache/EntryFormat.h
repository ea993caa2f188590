//===- EntryFormat.h - layout of an entry file ------------------*- C++ -*-===//
//
//   [ payload ][ metadata ][ record, 256 bytes ]
//
// The record stands at the END so that an entry's path is a usable artefact path: the payload starts at byte 0, page
// aligned, and `gaudi-run ENTRY.gdx` or a copy of the file work. (A leading header, as first specified, would force an
// offset through every API and through the line that gaudi-opt prints, or a copy.) One file per entry, never two: an
// orphan half cannot exist (JAX #39880). Changes of this layout raise kRecordVersion; other versions read as misses.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Hash.h"
#include "runtime/cache/Cache.h"

#include <bit>

namespace gaudi::cache {

inline constexpr char kRecordMagic[8] = {'G', 'D', 'X', 'E', 'N', 'T', 'R', 'Y'};
inline constexpr uint32_t kRecordVersion = 1;
inline constexpr uint64_t kMaxMetadataBytes = 64 << 10;

/// Last 256 bytes of every entry. Little endian, as all our hosts.
struct Record {
  char magic[8];
  uint32_t version;
  uint32_t kind;
  uint8_t key[32];
  uint64_t createdUnixSeconds;
  uint64_t compileMicros;
  uint64_t payloadBytes;
  uint64_t metadataBytes;
  Digest128 payloadDigest;
  Digest128 metadataDigest;
  uint8_t reserved[128];
  Digest128 recordDigest; ///< of the 240 bytes before
};
static_assert(sizeof(Record) == 256 && std::endian::native == std::endian::little);

/// Bytes of label and components; texts over 256 bytes and components over 64 are cut off.
std::string encodeMetadata(const Metadata &metadata);
/// False if the bytes are not a whole encoding.
bool decodeMetadata(std::string_view bytes, Metadata &out);

/// A record with all digests set.
Record makeRecord(Kind kind, const Key &key, const Metadata &metadata, std::string_view encodedMetadata,
                  uint64_t payloadBytes, const Digest128 &payloadDigest);

/// How much of an entry readEntry() looks at.
enum class Depth { Record, Payload };

struct Entry {
  Record record;
  Metadata metadata;
};

/// Reads and checks an open entry; `key` null = any key. Returns why it cannot be used, "" if it can.
std::string readEntry(int fd, Kind kind, const Key *key, Depth depth, Entry &out);

/// Length of the artefact in the file at `path`: without the record if it is an entry, 0 (= all) if it is not.
uint64_t payloadLengthOf(const std::string &path);

} // namespace gaudi::cache
