//===- FileIdentity.h - has this file changed since? ------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>

struct stat;

namespace gaudi {

/// What a file system says about a file's content without reading it. Equal identities mean equal bytes, provided that
/// the file had settled when the first was taken: a write within the granularity of the clock leaves no trace (git
/// calls such files racily clean).
struct FileIdentity {
  uint64_t device = 0, inode = 0, sizeBytes = 0;
  int64_t modifiedNs = 0, changedNs = 0; ///< mtime, and ctime, which programs cannot set

  FileIdentity() = default;
  explicit FileIdentity(const struct stat &info);

  /// True if the last change lies at least `graceNs` before now; FAT has the coarsest clock, 2 s.
  bool hasSettled(int64_t graceNs = 2'000'000'000) const;
  /// All fields, for keys and records.
  std::string text() const;
};

} // namespace gaudi
