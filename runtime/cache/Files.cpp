//===- Files.cpp - the few file operations of the cache -------------------===//
#include "runtime/cache/Files.h"
#include "runtime/base/Text.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include <dirent.h>
#include <fcntl.h>

namespace gaudi::cache {

FileDescriptor openAt(int dirFd, const std::string &name, int flags, unsigned mode) {
  return FileDescriptor(::openat(dirFd, name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode));
}

int writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n ? errno : ENOSPC;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

int readAt(int fd, void *out, size_t size, uint64_t offset) {
  auto *at = static_cast<char *>(out);
  while (size) {
    ssize_t n = ::pread(fd, at, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n ? errno : EIO;
    at += n, offset += static_cast<uint64_t>(n), size -= static_cast<size_t>(n);
  }
  return 0;
}

int digestFile(int fd, uint64_t size, Digest128 &out) {
  std::vector<std::byte> buffer(std::min<uint64_t>(size, 256 << 10));
  Xxh3Stream stream;
  for (uint64_t at = 0; at < size;) {
    size_t piece = static_cast<size_t>(std::min<uint64_t>(buffer.size(), size - at));
    if (int error = readAt(fd, buffer.data(), piece, at))
      return error;
    stream.update({buffer.data(), piece});
    at += piece;
  }
  out = stream.digest();
  return 0;
}

int makeDir(int dirFd, const std::string &name) {
  return ::mkdirat(dirFd, name.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

int syncDir(int dirFd, const std::string &name) {
  FileDescriptor dir(::openat(dirFd, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return dir.valid() && ::fsync(dir.get()) == 0 ? 0 : errno;
}

void forEachName(int dirFd, const std::string &folder, const std::function<void(const std::string &)> &visit) {
  int fd = ::openat(dirFd, folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  std::unique_ptr<DIR, int (*)(DIR *)> dir(fd < 0 ? nullptr : ::fdopendir(fd), ::closedir);
  if (!dir)
    return;
  while (dirent *entry = ::readdir(dir.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..")
      visit(name);
  }
}

std::string describeErrno(int error) {
  const char *text = ::strerrordesc_np(error);
  return text ? text : cat("errno ", error);
}

int64_t nowUnixSeconds() {
  timespec t;
  ::clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec;
}

} // namespace gaudi::cache
