//===- FileDescriptor.h - owned file descriptor -----------------*- C++ -*-===//
#pragma once

#include <unistd.h>
#include <utility>

namespace gaudi {

/// Closes its descriptor when it goes out of scope.
class FileDescriptor {
public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd(fd) {}
  FileDescriptor(FileDescriptor &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  FileDescriptor &operator=(FileDescriptor &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~FileDescriptor() { reset(); }

  bool valid() const { return fd >= 0; }
  int get() const { return fd; }
  /// Closes now; the result of close(2), which is where delayed write errors of network filesystems appear.
  int reset() { return fd >= 0 ? ::close(std::exchange(fd, -1)) : 0; }

private:
  int fd = -1;
};

} // namespace gaudi
