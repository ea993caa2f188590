//===- FileIdentity.h - has this file changed since? ------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>

namespace gaudi {

/// True for NFS, SMB, FUSE and their like, where neither locks nor clocks are this kernel's.
bool isOnNetwork(int fd);

/// What a file system says about a file's content without reading it. Equal identities mean equal bytes, provided that
/// the file had settled when the first was taken: a change within the same tick of the file system's clock leaves no
/// trace (git calls such files racily clean).
struct FileIdentity {
  uint64_t device = 0, inode = 0, sizeBytes = 0;
  int64_t modifiedNs = 0, changedNs = 0; ///< mtime, and ctime, which programs cannot set
  bool onNetwork = true;

  FileIdentity() = default;
  /// Of an open file; one that cannot be asked never settles.
  explicit FileIdentity(int fd);

  /// True once any further change would get another ctime. On a local file system that is after a tick of the kernel's
  /// coarse clock (1 to 10 ms), which stamps files; elsewhere, and where times are cut (FAT: 2 s), after 2 s.
  bool hasSettled() const;
  /// All fields, for keys and records.
  std::string text() const;
};

} // namespace gaudi
