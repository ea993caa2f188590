//===- Files.h - the few file operations of the cache -----------*- C++ -*-===//
//
// Everything is relative to a directory descriptor, so a folder that is renamed or replaced while we run cannot
// redirect us. Functions return 0 or an errno value: the cache turns most failures into one warning, not into a Status.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/FileDescriptor.h"
#include "runtime/base/Hash.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <sys/stat.h>

namespace gaudi::cache {

/// openat with O_CLOEXEC|O_NOFOLLOW|O_NONBLOCK added (a FIFO in the cache must not hang us). Invalid on error (errno).
FileDescriptor openAt(int dirFd, const std::string &name, int flags, unsigned mode = 0600);

int writeAll(int fd, std::string_view bytes);
/// Reads exactly `size` bytes at `offset`; EIO at an early end.
int readAt(int fd, void *out, size_t size, uint64_t offset);
/// xxh3-128 of the first `size` bytes, by read(2): a mapping would raise SIGBUS if the file is cut meanwhile.
int digestFile(int fd, uint64_t size, Digest128 &out);
/// mkdir that takes an existing folder for success.
int makeDir(int dirFd, const std::string &name);
/// Syncs the folder `name`, so that a rename in it survives a power loss.
int syncDir(int dirFd, const std::string &name);

/// Calls `visit(name)` for each name in the folder but "." and "..", in no particular order. No folder = no names.
void forEachName(int dirFd, const std::string &folder, const std::function<void(const std::string &)> &visit);

/// "No space left on device" (strerror is locale-dependent and not thread-safe).
std::string describeErrno(int error);

int64_t nowUnixSeconds();

} // namespace gaudi::cache
