//===- FileIdentity.cpp - has this file changed since? --------------------===//
#include "runtime/base/FileIdentity.h"
#include "runtime/base/Text.h"

#include <ctime>
#include <sys/stat.h>

namespace gaudi {

static int64_t nanoseconds(const timespec &time) { return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec; }

FileIdentity::FileIdentity(const struct stat &info)
    : device(info.st_dev), inode(info.st_ino), sizeBytes(static_cast<uint64_t>(info.st_size)),
      modifiedNs(nanoseconds(info.st_mtim)), changedNs(nanoseconds(info.st_ctim)) {}

bool FileIdentity::hasSettled(int64_t graceNs) const {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  int64_t latest = modifiedNs > changedNs ? modifiedNs : changedNs;
  return nanoseconds(now) - latest >= graceNs;
}

std::string FileIdentity::text() const {
  return cat("dev ", device, " inode ", inode, " size ", sizeBytes, " mtime ", modifiedNs, " ctime ", changedNs);
}

} // namespace gaudi
