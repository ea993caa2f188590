//===- KeyLock.cpp - one producer per key ---------------------------------===//
//
// flock, because the kernel frees it when the holder dies, however it dies; a lock file's mere existence, pids or time
// stamps need stale-lock breaking, which can let two owners in (ccache's source admits it for its own).
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Clock.h"
#include "runtime/base/Text.h"
#include "runtime/cache/CacheImpl.h"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>

namespace gaudi::cache {

KeyLock::KeyLock(KeyLock &&other) noexcept
    : fd(std::exchange(other.fd, -1)), dirFd(other.dirFd), name(std::move(other.name)) {}

KeyLock &KeyLock::operator=(KeyLock &&other) noexcept {
  std::swap(fd, other.fd);
  std::swap(dirFd, other.dirFd);
  std::swap(name, other.name);
  return *this;
}

KeyLock::~KeyLock() {
  if (fd < 0)
    return;
  // Unlinked while held, so that l/ does not grow; stillNamed() makes a waiter on the old file notice.
  ::unlinkat(dirFd, name.c_str(), 0);
  ::close(fd);
}

/// Whether `name` still is the file we locked: its last holder may have unlinked it while we waited.
static bool stillNamed(int dirFd, const std::string &name, int fd) {
  struct stat locked, named;
  return ::fstat(fd, &locked) == 0 && ::fstatat(dirFd, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
}

static void sleepMs(unsigned ms) {
  timespec pause = {ms / 1000, static_cast<long>(ms % 1000) * 1'000'000};
  ::nanosleep(&pause, nullptr);
}

KeyLock Cache::lock(const Key &key) {
  KeyLock result;
  if (!impl->writes() || !impl->locks)
    return result;
  std::string name = cat("l/", key.hex(), ".lock");
  uint64_t deadline = nowNs() + uint64_t(impl->options.lockTimeoutMs) * 1'000'000;
  // Polled: flock has no time-out, and an alarm signal is not a library's to use.
  for (unsigned pauseMs = 1;; pauseMs = std::min(pauseMs * 2, 32u)) {
    FileDescriptor fd = openAt(impl->dir.get(), name, O_RDWR | O_CREAT);
    if (!fd.valid()) {
      impl->warnOnce(cat("cannot lock ", name, ": ", describeErrno(errno)));
      return result;
    }
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      if (!stillNamed(impl->dir.get(), name, fd.get())) {
        pauseMs = 1;
        continue;
      }
      result.fd = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
      result.dirFd = impl->dir.get();
      result.name = std::move(name);
      return result;
    }
    if (nowNs() >= deadline) {
      impl->warn(cat("entry ", key.shortHex(), " is still being made by another process after ",
                     impl->options.lockTimeoutMs / 1000, " s; compiling it here too"));
      return result;
    }
    sleepMs(pauseMs);
  }
}

} // namespace gaudi::cache
