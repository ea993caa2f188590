//===- AtomicFile.h - a file that appears whole or not at all ---*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "runtime/base/FileDescriptor.h"
#include "runtime/base/Pending.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gaudi {

/// Written under a temporary name beside `path`; becomes visible under `path` only by commit(), and is removed if that
/// never comes. An existing file at `path` is replaced (its readers keep the old one). Errors: Failed.
class AtomicFile {
public:
  explicit AtomicFile(std::string path) : path(std::move(path)) {}
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  Status create();
  Status append(std::span<const std::byte> bytes);
  /// Zero bytes up to a multiple of `align` (at most 4096).
  Status padTo(uint64_t align);
  Status overwrite(uint64_t at, std::span<const std::byte> bytes);
  /// Closes and renames. Does not sync: a crash of the machine may lose the file, and its digest tells.
  Status commit();

  /// Bytes appended so far.
  uint64_t sizeBytes() const { return offset; }

private:
  Status failed(const char *what) const;

  std::string path, temporary;
  Pending pending; ///< so that Ctrl-C removes it too
  FileDescriptor fd;
  uint64_t offset = 0;
};

} // namespace gaudi
