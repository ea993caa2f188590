//===- MappedFile.cpp - read-only file mapping ----------------------------===//
#include "runtime/base/MappedFile.h"
#include "runtime/base/FileDescriptor.h"
#include "runtime/base/Text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace gaudi {

static int openBeneath(const std::string &folder, const std::string &path) {
  FileDescriptor root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid())
    return -1;
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  // Both: containment alone still follows links inside the folder, which ONNX's own opener was fooled by.
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how));
}

static Status openError(const std::string &path, const OpenRules &rules) {
  int error = errno;
  if (error == EXDEV)
    return Status::error(rules.errorCode, cat(path, ": path leaves the folder '", rules.beneath, "'"));
  if (error == ELOOP)
    return Status::error(rules.errorCode, cat(path, ": is a link, or has one in its path"));
  if (error == ENOENT && rules.beneath.empty())
    return Status::error(StatusCode::Usage, cat(path, ": no such file"));
  std::string where = rules.beneath.empty() ? "" : cat(" in '", rules.beneath, "'");
  return Status::error(rules.errorCode, cat(path, ": cannot open", where, ": ", std::strerror(error)));
}

Expected<MappedFile> MappedFile::open(const std::string &path, const OpenRules &rules) {
  // O_NONBLOCK: opening a FIFO must fail below, not hang.
  FileDescriptor fd(rules.beneath.empty() ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                                          : openBeneath(rules.beneath, path));
  if (!fd.valid())
    return openError(path, rules);
  struct stat info;
  if (fstat(fd.get(), &info) != 0)
    return openError(path, rules);
  if (!S_ISREG(info.st_mode))
    return Status::error(rules.errorCode, cat(path, ": not a regular file"));

  MappedFile file;
  file.filePath = path;
  file.fileIdentity = FileIdentity(fd.get());
  if (info.st_size == 0)
    return file; // mmap refuses length 0; an empty file is a valid empty span
  void *address = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED)
    return Status::error(
        StatusCode::ResourceLimit,
        cat(path, ": cannot map ", formatBytes(static_cast<uint64_t>(info.st_size)), ": ", std::strerror(errno)));
  file.data = static_cast<const std::byte *>(address);
  file.sizeBytes = static_cast<size_t>(info.st_size);
  return file;
}

MappedFile::~MappedFile() {
  if (data)
    munmap(const_cast<std::byte *>(data), sizeBytes);
}

} // namespace gaudi
