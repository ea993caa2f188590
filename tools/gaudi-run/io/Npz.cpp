//===- Npz.cpp - numpy's .npz format --------------------------------------===//
//
// Numbers and names of fields: PKWARE APPNOTE 6.3.10, sections 4.3 and 4.5.3.
//
//===----------------------------------------------------------------------===//
#include "tools/gaudi-run/io/Npz.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/io/WriteFile.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>

namespace gaudi::io {

static constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                          kLocator64 = 0x07064b50;
static constexpr uint32_t kIn64 = 0xffffffff; ///< the value is in the zip64 extra field

/// Little-endian number of `width` bytes; the caller has checked the range.
static uint64_t get(std::span<const std::byte> bytes, size_t at, size_t width) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, width);
  return value;
}

Status NpzReader::invalid(std::string what, std::string hint) const {
  return Status::error(StatusCode::InvalidInput, cat(where, ": npz: ", what), std::move(hint));
}

/// Where the central directory is.
struct NpzReader::Directory {
  uint64_t offset = 0, size = 0, count = 0;

  /// Searches the end record backwards; it stands before a comment of at most 64 KiB.
  static bool find(std::span<const std::byte> bytes, Directory &out) {
    if (bytes.size() < 22)
      return false;
    size_t lowest = bytes.size() > 22 + 65535 ? bytes.size() - 22 - 65535 : 0;
    for (size_t at = bytes.size() - 22 + 1; at-- > lowest;) {
      if (get(bytes, at, 4) != kEnd || at + 22 + get(bytes, at + 20, 2) != bytes.size())
        continue;
      out = {get(bytes, at + 16, 4), get(bytes, at + 12, 4), get(bytes, at + 10, 2)};
      if (out.offset == kIn64 || out.size == kIn64 || out.count == 0xffff)
        return find64(bytes, at, out);
      return insideRange(out.offset, out.size, bytes.size());
    }
    return false;
  }

  static bool find64(std::span<const std::byte> bytes, size_t end, Directory &out) {
    if (end < 20 || get(bytes, end - 20, 4) != kLocator64)
      return false;
    uint64_t at = get(bytes, end - 12, 8);
    if (!insideRange(at, 56, bytes.size()) || get(bytes, at, 4) != kEnd64)
      return false;
    out = {get(bytes, at + 48, 8), get(bytes, at + 40, 8), get(bytes, at + 32, 8)};
    return insideRange(out.offset, out.size, bytes.size());
  }
};

/// Replaces values that say "see zip64" by those of extra field 1, which holds only these, in this order.
static bool readZip64(std::span<const std::byte> extra, uint64_t *values[3]) {
  while (extra.size() >= 4) {
    uint64_t id = get(extra, 0, 2), size = get(extra, 2, 2);
    extra = extra.subspan(4);
    if (size > extra.size())
      return false;
    if (id == 1) {
      size_t at = 0;
      for (int i = 0; i < 3; ++i) {
        if (*values[i] != kIn64)
          continue;
        if (at + 8 > size)
          return false;
        *values[i] = get(extra, at, 8);
        at += 8;
      }
      return true;
    }
    extra = extra.subspan(size);
  }
  return false;
}

static bool isUnsafeName(const std::string &name) {
  return name.empty() || name[0] == '/' || name.find('\\') != std::string::npos ||
         name.find('\0') != std::string::npos || name == ".." || name.starts_with("../") ||
         name.find("/../") != std::string::npos || name.ends_with("/..");
}

/// `header` is the entry's part of the central directory, 46 bytes and its three variable fields.
Status NpzReader::parseEntry(std::span<const std::byte> header, Entry &entry) const {
  uint64_t flags = get(header, 8, 2), method = get(header, 10, 2);
  size_t nameBytes = get(header, 28, 2), extraBytes = get(header, 30, 2);
  entry.name.assign(reinterpret_cast<const char *>(header.data()) + 46, nameBytes);
  if (isUnsafeName(entry.name))
    return invalid(cat("entry '", entry.name, "' has an unsafe name"));
  if (flags & 0x41) // encrypted, strongly encrypted
    return invalid(cat("entry '", entry.name, "' is encrypted"));
  if (method != 0 && method != 8)
    return invalid(cat("entry '", entry.name, "' has compression method ", method, " (expected stored or deflate)"),
                   "save with np.savez or np.savez_compressed");
  entry.deflated = method == 8;
  entry.crc = static_cast<uint32_t>(get(header, 16, 4));
  entry.packedBytes = get(header, 20, 4);
  entry.unpackedBytes = get(header, 24, 4);
  entry.localOffset = get(header, 42, 4);
  uint64_t *values[3] = {&entry.unpackedBytes, &entry.packedBytes, &entry.localOffset};
  bool in64 = entry.unpackedBytes == kIn64 || entry.packedBytes == kIn64 || entry.localOffset == kIn64;
  if (in64 && !readZip64(header.subspan(46 + nameBytes, extraBytes), values))
    return invalid(cat("entry '", entry.name, "' has no zip64 sizes"));
  return {};
}

Status NpzReader::locateData(Entry &entry) const {
  uint64_t at = entry.localOffset;
  if (!insideRange(at, 30, bytes.size()) || get(bytes, at, 4) != kLocal)
    return invalid(cat("entry '", entry.name, "' has no local header at byte ", at));
  uint64_t nameBytes = get(bytes, at + 26, 2), extraBytes = get(bytes, at + 28, 2);
  entry.dataOffset = at + 30 + nameBytes + extraBytes;
  if (entry.dataOffset > bytes.size() || !insideRange(entry.dataOffset, entry.packedBytes, bytes.size()))
    return invalid(cat("entry '", entry.name, "' needs bytes ", entry.dataOffset, " + ", entry.packedBytes,
                       " of a file of ", bytes.size()));
  bool sameName =
      nameBytes == entry.name.size() && std::memcmp(bytes.data() + at + 30, entry.name.data(), nameBytes) == 0;
  return sameName ? Status() : invalid(cat("entry '", entry.name, "' has another name in its local header"));
}

Status NpzReader::checkSizes(const Entry &entry) const {
  if (!entry.deflated && entry.packedBytes != entry.unpackedBytes)
    return invalid(cat("entry '", entry.name, "' is stored but has two sizes (found ", entry.packedBytes, " and ",
                       entry.unpackedBytes, ")"));
  bool impossible = entry.unpackedBytes / limits.maxRatio > entry.packedBytes;
  if (entry.unpackedBytes > limits.maxBytes || impossible)
    return invalid(cat("entry '", entry.name, "' expands ", formatBytes(entry.packedBytes), " to ",
                       formatBytes(entry.unpackedBytes), "; limit ",
                       impossible ? cat(limits.maxRatio, ":1") : formatBytes(limits.maxBytes)));
  return {};
}

/// Duplicates, and entries whose bytes overlap.
Status NpzReader::checkTogether() const {
  std::vector<const Entry *> sorted;
  for (const Entry &entry : entries)
    sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](auto *a, auto *b) { return a->name < b->name; });
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i]->name == sorted[i - 1]->name)
      return invalid(cat("entry '", sorted[i]->name, "' occurs twice"));
  std::sort(sorted.begin(), sorted.end(), [](auto *a, auto *b) { return a->localOffset < b->localOffset; });
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i - 1]->dataOffset + sorted[i - 1]->packedBytes > sorted[i]->localOffset)
      return invalid(cat("entries '", sorted[i - 1]->name, "' and '", sorted[i]->name, "' overlap"));
  return {};
}

Status NpzReader::load(const std::string &at, const Limits &l) {
  where = at;
  limits = l;
  Directory directory;
  if (bytes.empty())
    return invalid("file is empty");
  if (!Directory::find(bytes, directory))
    return invalid("no zip directory at the end", "is the file complete?");
  if (directory.count > limits.maxEntries)
    return invalid(cat(directory.count, " entries; limit ", limits.maxEntries));
  std::span<const std::byte> rest = bytes.subspan(directory.offset, directory.size);
  for (uint64_t i = 0; i < directory.count; ++i) {
    uint64_t size = rest.size() < 46 ? 46 : 46 + get(rest, 28, 2) + get(rest, 30, 2) + get(rest, 32, 2);
    if (rest.size() < size || get(rest, 0, 4) != kCentral)
      return invalid(cat("zip directory ends after ", i, " of ", directory.count, " entries"));
    Entry entry;
    GAUDI_TRY(parseEntry(rest.first(size), entry));
    GAUDI_TRY(locateData(entry));
    GAUDI_TRY(checkSizes(entry));
    entries.push_back(std::move(entry));
    rest = rest.subspan(size);
  }
  return checkTogether();
}

Expected<NpzReader> NpzReader::open(const std::string &path, const Limits &limits) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.takeStatus();
  NpzReader reader;
  reader.file = file.take();
  reader.bytes = reader.file.bytes();
  GAUDI_TRY(reader.load(path, limits));
  return reader;
}

Expected<NpzReader> NpzReader::parse(std::span<const std::byte> bytes, const std::string &where, const Limits &limits) {
  NpzReader reader;
  reader.bytes = bytes;
  GAUDI_TRY(reader.load(where, limits));
  return reader;
}

static std::string_view withoutSuffix(std::string_view name) {
  return name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
}

std::vector<std::string> NpzReader::names() const {
  std::vector<std::string> out;
  for (const Entry &entry : entries)
    out.emplace_back(withoutSuffix(entry.name));
  return out;
}

Expected<Array> NpzReader::read(std::string_view name) const {
  for (const Entry &entry : entries)
    if (withoutSuffix(entry.name) == name || entry.name == name)
      return unpack(entry, cat(where, ":", withoutSuffix(entry.name)));
  return Status::error(StatusCode::Usage, cat(where, ": no array '", name, "'"), "arrays: " + join(names(), ", "));
}

/// Inflates into exactly `out`; false if the data is damaged, shorter or longer.
static bool inflateExactly(std::span<const std::byte> packed, std::span<std::byte> out) {
  z_stream stream = {};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  int result = Z_OK;
  std::byte beyond; // room for one byte more shows data that is too long
  size_t produced = 0;
  while (result == Z_OK) {
    if (stream.avail_in == 0 && !packed.empty()) {
      size_t piece = std::min<size_t>(packed.size(), 1 << 30); // zlib counts in 32 bits
      stream.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(packed.data()));
      stream.avail_in = static_cast<uInt>(piece);
      packed = packed.subspan(piece);
    }
    bool full = produced == out.size();
    size_t room = full ? 1 : std::min<size_t>(out.size() - produced, 1 << 30);
    stream.next_out = reinterpret_cast<Bytef *>(full ? &beyond : out.data() + produced);
    stream.avail_out = static_cast<uInt>(room);
    result = ::inflate(&stream, Z_NO_FLUSH);
    size_t got = room - stream.avail_out;
    if (full && got)
      result = Z_DATA_ERROR;
    else
      produced += got;
    if (result == Z_BUF_ERROR && stream.avail_in == 0 && !packed.empty())
      result = Z_OK;
  }
  ::inflateEnd(&stream);
  return result == Z_STREAM_END && produced == out.size();
}

static uint32_t crcOf(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
}

Expected<Array> NpzReader::unpack(const Entry &entry, const std::string &at) const {
  std::span<const std::byte> data = bytes.subspan(entry.dataOffset, entry.packedBytes);
  Array unpacked;
  if (entry.deflated) {
    unpacked = Array::zeros({"", DType::U8, {static_cast<int64_t>(entry.unpackedBytes)}});
    if (!unpacked.valid())
      return Status::error(StatusCode::ResourceLimit, cat(at, ": no memory for ", formatBytes(entry.unpackedBytes)));
    std::span<std::byte> out = {unpacked.data.get(), entry.unpackedBytes};
    if (!inflateExactly(data, out))
      return invalid(cat("entry '", entry.name, "' does not unpack to its ", entry.unpackedBytes, " bytes"));
    data = out;
  }
  if (crcOf(data) != entry.crc)
    return invalid(cat("entry '", entry.name, "' has a wrong checksum; file is corrupt"));
  return parseNpy(data, at, limits);
}

static void put(std::string &out, uint64_t value, size_t width) {
  out.append(reinterpret_cast<const char *>(&value), width);
}

/// The 26 bytes that local header and directory share, from "version needed" on.
static std::string sharedFields(uint32_t crc, uint64_t size, size_t nameBytes) {
  std::string out;
  put(out, 20, 2);         // version needed: 2.0
  put(out, 0x0800, 2);     // names are UTF-8
  put(out, 0, 2);          // stored
  put(out, 0x00210000, 4); // 1980-01-01 00:00: equal arrays give equal files
  put(out, crc, 4);
  put(out, size, 4);
  put(out, size, 4);
  put(out, nameBytes, 2);
  put(out, 0, 2); // no extra field
  return out;
}

Status writeNpz(const std::string &path, const std::vector<NamedData> &arrays) {
  std::vector<std::string> heads(arrays.size());
  std::vector<std::string_view> pieces;
  std::string directory;
  uint64_t offset = 0;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const NamedData &array = arrays[i];
    std::string name = array.name + ".npy", header = npyHeader(array.spec);
    uint64_t size = header.size() + array.data.sizeBytes;
    if (offset + size > 0xfff00000 || arrays.size() > 0xfff0)
      return Status::error(StatusCode::Unsupported, cat(path, ": npz files over 4 GiB are not written"),
                           "use --output name=@file.npy for each output");
    auto data = static_cast<const Bytef *>(array.data.data);
    uint32_t crc = crcOf(std::as_bytes(std::span(header)));
    crc = static_cast<uint32_t>(array.data.sizeBytes ? ::crc32_z(crc, data, array.data.sizeBytes) : crc);
    std::string shared = sharedFields(crc, size, name.size());

    put(directory, kCentral, 4);
    put(directory, 20, 2); // made by
    directory += shared;
    put(directory, 0, 6); // comment, disk, internal attributes
    put(directory, 0, 4); // external attributes
    put(directory, offset, 4);
    directory += name;

    put(heads[i], kLocal, 4);
    heads[i] += shared + name + header;
    pieces.push_back(heads[i]);
    pieces.push_back({static_cast<const char *>(array.data.data), array.data.sizeBytes});
    offset += heads[i].size() + array.data.sizeBytes;
  }
  size_t directoryBytes = directory.size();
  put(directory, kEnd, 4);
  put(directory, 0, 4); // disks
  put(directory, arrays.size(), 2);
  put(directory, arrays.size(), 2);
  put(directory, directoryBytes, 4);
  put(directory, offset, 4);
  put(directory, 0, 2); // comment
  pieces.push_back(directory);
  return writeFile(path, pieces);
}

} // namespace gaudi::io
