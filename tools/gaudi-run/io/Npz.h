//===- Npz.h - numpy's .npz format (a zip of .npy files) --------*- C++ -*-===//
//
// Trusts the central directory only, checks it as a whole at open, and unpacks nothing before its size is known to be
// acceptable: `../` and absolute names, duplicates, encryption, overlapping entries (the quoted-overlap bomb), sizes
// that lie and ratios that deflate cannot reach are refused. Zip64 is read; entries are stored or deflated.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/MappedFile.h"
#include "tools/gaudi-run/io/Npy.h"

namespace gaudi::io {

class NpzReader {
public:
  /// Errors: InvalidInput, Usage if there is no such file.
  static Expected<NpzReader> open(const std::string &path, const Limits &limits = {});
  /// The same from memory that outlives the reader.
  static Expected<NpzReader> parse(std::span<const std::byte> bytes, const std::string &where,
                                   const Limits &limits = {});

  /// Names without ".npy", in the file's order.
  std::vector<std::string> names() const;
  /// Errors: Usage for an unknown name (the known ones are listed), InvalidInput, ResourceLimit.
  Expected<Array> read(std::string_view name) const;

private:
  struct Entry {
    std::string name;
    bool deflated = false;
    uint32_t crc = 0;
    uint64_t packedBytes = 0, unpackedBytes = 0, localOffset = 0, dataOffset = 0;
  };
  struct Directory;
  Status load(const std::string &where, const Limits &limits);
  Status parseEntry(std::span<const std::byte> header, Entry &entry) const;
  Status locateData(Entry &entry) const;
  Status checkSizes(const Entry &entry) const;
  Status checkTogether() const;
  Expected<Array> unpack(const Entry &entry, const std::string &at) const;
  Status invalid(std::string what, std::string hint = {}) const;

  MappedFile file;
  std::span<const std::byte> bytes;
  std::string where;
  Limits limits;
  std::vector<Entry> entries;
};

/// One array of an npz to write.
struct NamedData {
  std::string name;
  TensorSpec spec;
  TensorView data;
};

/// Stored, not deflated: weights and activations hardly shrink. Errors: Runtime; Unsupported past 4 GiB.
Status writeNpz(const std::string &path, const std::vector<NamedData> &arrays);

} // namespace gaudi::io
