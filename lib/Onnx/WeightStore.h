//===- WeightStore.h - bytes of weights by reference ------------*- C++ -*-===//
#pragma once

#include "runtime/base/MappedFile.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

namespace gaudi {

/// Bytes [offset, offset + length) of file number `file` of a WeightStore.
struct WeightRef {
  uint32_t file = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// The files a model's weights live in: mapped read-only, or (tensors that no file holds contiguously) owned memory.
/// Spans stay valid, and file numbers stable, for the life of the store. Reading is thread-safe.
class WeightStore {
public:
  /// `path` is what messages and artefacts call the file.
  uint32_t addMapped(MappedFile file, std::string path);
  /// `name` is informative, for example "model.onnx#w".
  uint32_t addOwned(std::string name, std::vector<std::byte> bytes);
  /// Memory that the caller keeps alive.
  uint32_t addBorrowed(std::string name, std::span<const std::byte> bytes);

  size_t fileCount() const { return files.size(); }
  const std::string &path(uint32_t file) const { return files[file].path; }
  /// True if the file is on disk, so that another process can map it under `path`.
  bool isMapped(uint32_t file) const { return files[file].mapped; }
  /// Of a mapped file.
  const FileIdentity &identity(uint32_t file) const { return files[file].mapping.identity(); }
  uint64_t fileSizeBytes(uint32_t file) const { return files[file].bytes.size(); }

  /// The bytes, or an empty span if any of them is outside of the file.
  std::span<const std::byte> bytes(uint32_t file, uint64_t offset, uint64_t length) const;
  std::span<const std::byte> bytes(const WeightRef &ref) const { return bytes(ref.file, ref.offset, ref.length); }

private:
  struct Entry {
    std::string path;
    std::span<const std::byte> bytes;
    bool mapped = false;
    MappedFile mapping;
    std::vector<std::byte> owned;
  };
  std::deque<Entry> files;
};

} // namespace gaudi
