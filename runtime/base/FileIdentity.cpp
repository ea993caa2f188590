//===- FileIdentity.cpp - has this file changed since? --------------------===//
#include "runtime/base/FileIdentity.h"
#include "runtime/base/Text.h"

#include <ctime>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace gaudi {

bool isOnNetwork(int fd) {
  struct statfs info;
  if (::fstatfs(fd, &info) != 0)
    return false;
  switch (static_cast<uint32_t>(info.f_type)) {
  case 0x6969:     // NFS
  case 0x517b:     // SMB
  case 0xfe534d42: // SMB2
  case 0xff534d42: // CIFS
  case 0x65735546: // FUSE: sshfs, s3fs and others do not say whether flock reaches the server
  case 0x01021997: // 9P
  case 0x00c36400: // Ceph
  case 0x0bd00bd0: // Lustre: flock is a mount option
    return true;
  }
  return false;
}

static int64_t nanoseconds(const timespec &time) { return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec; }

FileIdentity::FileIdentity(int fd) {
  struct stat info;
  if (::fstat(fd, &info) != 0) {
    changedNs = INT64_MAX;
    return;
  }
  device = info.st_dev, inode = info.st_ino, sizeBytes = static_cast<uint64_t>(info.st_size);
  modifiedNs = nanoseconds(info.st_mtim), changedNs = nanoseconds(info.st_ctim);
  onNetwork = isOnNetwork(fd);
}

bool FileIdentity::hasSettled() const {
  constexpr int64_t finest = 10'000'000; // exFAT counts hundredths of a second, older ones whole seconds
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  bool cut = changedNs % finest == 0;
  int64_t grace = onNetwork || cut ? 2'000'000'000 : 0;
  return changedNs < INT64_MAX && nanoseconds(now) - changedNs > grace;
}

std::string FileIdentity::text() const {
  return cat("dev ", device, " inode ", inode, " size ", sizeBytes, " mtime ", modifiedNs, " ctime ", changedNs);
}

} // namespace gaudi
