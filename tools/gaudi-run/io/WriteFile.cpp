//===- WriteFile.cpp - writing a file or nothing --------------------------===//
#include "tools/gaudi-run/io/WriteFile.h"
#include "runtime/base/FileDescriptor.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

namespace gaudi::io {

// A plain buffer: a signal handler may read it at any moment. Set before the file exists, cleared after the rename.
static char pending[PATH_MAX];

const char *pendingTemporary() { return pending; }

static Status failed(const std::string &path, const char *what, int error) {
  return Status::error(StatusCode::Runtime, cat(path, ": cannot ", what, ": ", ::strerrordesc_np(error)));
}

static int writeAll(int fd, const std::vector<std::string_view> &pieces) {
  for (std::string_view piece : pieces) {
    while (!piece.empty()) {
      ssize_t n = ::write(fd, piece.data(), std::min<size_t>(piece.size(), 1 << 30));
      if (n < 0 && errno != EINTR)
        return errno;
      piece.remove_prefix(static_cast<size_t>(std::max<ssize_t>(n, 0)));
    }
  }
  return 0;
}

static bool isRegularOrMissing(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
}

Status writeFile(const std::string &path, const std::vector<std::string_view> &pieces) {
  if (!isRegularOrMissing(path)) {
    FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    int error = fd.valid() ? writeAll(fd.get(), pieces) : errno;
    return error ? failed(path, "write", error) : Status();
  }
  std::string temporary = cat(path, ".", ::getpid(), ".tmp");
  if (temporary.size() >= sizeof pending)
    return failed(path, "create", ENAMETOOLONG);
  std::memcpy(pending, temporary.c_str(), temporary.size() + 1);
  FileDescriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid()) {
    pending[0] = 0;
    return failed(path, "create", errno);
  }
  int error = writeAll(fd.get(), pieces);
  if (!error && fd.reset() != 0)
    error = errno;
  if (!error && ::rename(temporary.c_str(), path.c_str()) != 0)
    error = errno;
  if (error)
    ::unlink(temporary.c_str());
  pending[0] = 0;
  return error ? failed(path, "write", error) : Status();
}

} // namespace gaudi::io
