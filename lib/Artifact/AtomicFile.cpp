//===- AtomicFile.cpp - a file that appears whole or not at all -----------===//
#include "lib/Artifact/AtomicFile.h"

#include "runtime/base/Text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>

namespace gaudi {

AtomicFile::~AtomicFile() {
  if (!temporary.empty())
    unlink(temporary.c_str());
}

Status AtomicFile::failed(const char *what) const {
  return Status::error(StatusCode::Failed, cat(path, ": cannot ", what, ": ", std::strerror(errno)),
                       "check that the folder exists, is writable and has room");
}

Status AtomicFile::create() {
  std::string name = uniqueName(path + ".", pending);
  fd = FileDescriptor(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd.valid()) {
    pending.forget();
    return failed("create");
  }
  temporary = std::move(name);
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
