//===- EntryFormat.cpp - layout of an entry file --------------------------===//
#include "runtime/cache/EntryFormat.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"
#include "runtime/cache/Files.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>

namespace gaudi::cache {

static constexpr size_t kMaxText = 256;
static constexpr size_t kMaxComponents = 64;

static std::span<const std::byte> asBytes(std::string_view s) {
  return std::as_bytes(std::span<const char>(s.data(), s.size()));
}

static void putString(std::string &out, std::string_view text) {
  text = text.substr(0, kMaxText);
  auto size = static_cast<uint16_t>(text.size());
  out.append(reinterpret_cast<const char *>(&size), sizeof size);
  out.append(text);
}

static bool getString(std::string_view &in, std::string &out) {
  uint16_t size;
  if (in.size() < sizeof size)
    return false;
  std::memcpy(&size, in.data(), sizeof size);
  in.remove_prefix(sizeof size);
  if (in.size() < size)
    return false;
  out = in.substr(0, size);
  in.remove_prefix(size);
  return true;
}

std::string encodeMetadata(const Metadata &metadata) {
  std::string out;
  putString(out, metadata.label);
  size_t count = std::min(metadata.components.size(), kMaxComponents);
  for (size_t i = 0; i < count; ++i) {
    const Component &component = metadata.components[i];
    putString(out, component.name);
    out.append(reinterpret_cast<const char *>(component.digest.bytes.data()), component.digest.bytes.size());
    putString(out, component.text);
  }
  return out;
}

bool decodeMetadata(std::string_view bytes, Metadata &out) {
  if (bytes.empty())
    return true;
  if (!getString(bytes, out.label))
    return false;
  while (!bytes.empty()) {
    Component component;
    if (out.components.size() == kMaxComponents || !getString(bytes, component.name) || bytes.size() < 32)
      return false;
    std::memcpy(component.digest.bytes.data(), bytes.data(), 32);
    bytes.remove_prefix(32);
    if (!getString(bytes, component.text))
      return false;
    out.components.push_back(std::move(component));
  }
  return true;
}

static Digest128 digestOf(const Record &record) {
  return xxh3({reinterpret_cast<const std::byte *>(&record), offsetof(Record, recordDigest)});
}

Record makeRecord(Kind kind, const Key &key, const Metadata &metadata, std::string_view encodedMetadata,
                  uint64_t payloadBytes, const Digest128 &payloadDigest) {
  Record record = {};
  std::memcpy(record.magic, kRecordMagic, sizeof record.magic);
  record.version = kRecordVersion;
  record.kind = static_cast<uint32_t>(kind);
  std::memcpy(record.key, key.bytes.data(), sizeof record.key);
  record.createdUnixSeconds = static_cast<uint64_t>(nowUnixSeconds());
  record.compileMicros = static_cast<uint64_t>(std::max(metadata.compileMs, 0.0) * 1e3);
  record.payloadBytes = payloadBytes;
  record.metadataBytes = encodedMetadata.size();
  record.payloadDigest = payloadDigest;
  record.metadataDigest = xxh3(asBytes(encodedMetadata));
  record.recordDigest = digestOf(record);
  return record;
}

/// Checks what the record says about itself; the file's bytes come later.
static std::string checkRecord(const Record &record, uint64_t fileBytes, Kind kind, const Key *key) {
  if (std::memcmp(record.magic, kRecordMagic, sizeof record.magic) != 0)
    return "no cache record at the end (cut off or overwritten)";
  if (record.version != kRecordVersion)
    return cat("record version ", record.version, ", this program reads ", kRecordVersion);
  if (record.recordDigest != digestOf(record))
    return "digest mismatch in the record";
  if (record.kind != static_cast<uint32_t>(kind))
    return cat("holds kind ", record.kind, ", expected ", nameOf(kind));
  if (key && std::memcmp(record.key, key->bytes.data(), sizeof record.key) != 0)
    return "holds another key than its name says";
  uint64_t total;
  if (record.metadataBytes > kMaxMetadataBytes ||
      !checkedAdd(record.payloadBytes, record.metadataBytes + sizeof(Record), total) || total != fileBytes)
    return cat("file has ", fileBytes, " bytes, its record says ", record.payloadBytes, " + ", record.metadataBytes,
               " + ", sizeof(Record));
  return {};
}

std::string readEntry(int fd, Kind kind, const Key *key, Depth depth, Entry &out) {
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    return "not a regular file";
  auto fileBytes = static_cast<uint64_t>(info.st_size);
  if (fileBytes < sizeof(Record))
    return cat("file has ", fileBytes, " bytes, an entry at least ", sizeof(Record));
  if (int error = readAt(fd, &out.record, sizeof(Record), fileBytes - sizeof(Record)))
    return describeErrno(error);
  if (std::string why = checkRecord(out.record, fileBytes, kind, key); !why.empty())
    return why;

  std::string encoded(out.record.metadataBytes, '\0');
  if (int error = readAt(fd, encoded.data(), encoded.size(), out.record.payloadBytes))
    return describeErrno(error);
  if (xxh3(asBytes(encoded)) != out.record.metadataDigest || !decodeMetadata(encoded, out.metadata))
    return "digest mismatch in the metadata";
  out.metadata.compileMs = static_cast<double>(out.record.compileMicros) / 1e3;

  if (depth == Depth::Record)
    return {};
  Digest128 digest;
  if (int error = digestFile(fd, out.record.payloadBytes, digest))
    return describeErrno(error);
  return digest == out.record.payloadDigest ? std::string() : "digest mismatch in the payload";
}

uint64_t payloadLengthOf(const std::string &path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  Entry entry;
  for (Kind kind : kAllKinds)
    if (fd.valid() && readEntry(fd.get(), kind, nullptr, Depth::Record, entry).empty())
      return entry.record.payloadBytes;
  return 0;
}

} // namespace gaudi::cache
