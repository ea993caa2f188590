//===- AtomicFile.cpp - a file that appears whole or not at all -----------===//
#include "lib/Artifact/AtomicFile.h"

#include "runtime/base/Text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

namespace gaudi {

AtomicFile::~AtomicFile() {
  if (!temporary.empty())
    unlink(temporary.c_str());
}

Status AtomicFile::failed(const char *what) const {
  return Status::error(StatusCode::Failed, cat(path, ": cannot ", what, ": ", std::strerror(errno)),
                       "check that the folder exists, is writable and has room");
}

/// The permissions that open(2) would have given. umask(2) can only be read by setting it, which other threads would
/// notice, so ask /proc.
static mode_t defaultMode() {
  unsigned mask = 022;
  FILE *status = std::fopen("/proc/self/status", "re");
  for (char line[256]; status && std::fgets(line, sizeof line, status);)
    if (std::sscanf(line, "Umask: %o", &mask) == 1)
      break;
  if (status)
    std::fclose(status);
  return 0666 & ~static_cast<mode_t>(mask);
}

Status AtomicFile::create() {
  std::string name = path + ".XXXXXX";
  fd = FileDescriptor(mkostemp(name.data(), O_CLOEXEC));
  if (!fd.valid())
    return failed("create");
  temporary = std::move(name);
  pending = Pending(temporary);
  if (fchmod(fd.get(), defaultMode()) != 0) // mkostemp makes files private
    return failed("create");
  return {};
}

Status AtomicFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return failed("write");
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

Status AtomicFile::padTo(uint64_t align) {
  static constexpr std::byte zeros[4096] = {};
  return append({zeros, (align - offset % align) % align});
}

Status AtomicFile::overwrite(uint64_t at, std::span<const std::byte> bytes) {
  if (pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(at)) != static_cast<ssize_t>(bytes.size()))
    return failed("write");
  return {};
}

Status AtomicFile::commit() {
  if (fd.reset() != 0 || rename(temporary.c_str(), path.c_str()) != 0)
    return failed("finish");
  temporary.clear();
  pending.forget();
  return {};
}

} // namespace gaudi
