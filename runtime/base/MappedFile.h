//===- MappedFile.h - read-only file mapping --------------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "runtime/base/FileIdentity.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gaudi {

/// Which paths may be opened.
struct OpenRules {
  /// Folder that the path is relative to and may not leave, without any symbolic link on the way. Empty = any path.
  std::string beneath;
  StatusCode errorCode = StatusCode::InvalidInput; ///< code of every error but "not found", which is Usage
};

/// A whole regular file mapped read-only. Owns the mapping; the file descriptor is closed after mapping.
/// The bytes change if another process writes to the file: copy what must stay as it was verified.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  /// Never blocks on a FIFO and refuses everything but regular files.
  static Expected<MappedFile> open(const std::string &path, const OpenRules &rules = {});

  std::span<const std::byte> bytes() const { return {data, sizeBytes}; }
  const std::string &path() const { return filePath; }
  /// As it was when the file was mapped.
  const FileIdentity &identity() const { return fileIdentity; }

private:
  void swap(MappedFile &other) {
    std::swap(data, other.data);
    std::swap(sizeBytes, other.sizeBytes);
    std::swap(filePath, other.filePath);
    std::swap(fileIdentity, other.fileIdentity);
  }

  const std::byte *data = nullptr;
  size_t sizeBytes = 0;
  std::string filePath;
  FileIdentity fileIdentity;
};

} // namespace gaudi
