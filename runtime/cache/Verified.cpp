//===- Verified.cpp - which weights entries have been read through --------===//
//
// Packed weights can be many GB, and reading them to check their digest would cost more than everything else at a
// start. So it is done once: a small entry beside them says which file, as the file system knows it, was found sound. A
// file that has changed in any way since is read again. The process that packs them has read them, too, so already the
// second start need not.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/FileIdentity.h"
#include "runtime/base/Text.h"
#include "runtime/cache/CacheImpl.h"

#include <cerrno>
#include <ctime>
#include <fcntl.h>

namespace gaudi::cache {

/// Of the entry that vouches for `key`; entries' keys are digests, so nothing else has it.
static Key voucherKey(Key key) {
  for (unsigned char &byte : key.bytes)
    byte ^= 0xa5;
  return key;
}

static std::string voucherText(const Key &key, const FileIdentity &file) {
  return cat("verified ", key.hex(), ' ', file.text());
}

bool Cache::Impl::isKnownSound(int fd, const Key &key) const {
  std::string expected = voucherText(key, FileIdentity(fd)), found(expected.size(), '\0');
  Key voucher = voucherKey(key);
  FileDescriptor file = openAt(dir.get(), entryName(Kind::Kernel, voucher), O_RDONLY);
  Entry entry;
  return file.valid() && readEntry(file.get(), Kind::Kernel, &voucher, Depth::Payload, entry).empty() &&
         entry.record.payloadBytes == expected.size() && readAt(file.get(), found.data(), found.size(), 0) == 0 &&
         found == expected;
}

void Cache::Impl::rememberSound(int fd, const Key &key) {
  FileIdentity file(fd);
  file.onNetwork |= !locks;
  constexpr timespec tick = {0, 1'000'000};
  for (int i = 0; i < 12 && !file.onNetwork && !file.hasSettled(); ++i) // written a moment ago
    ::nanosleep(&tick, nullptr);
  if (!writes() || !file.hasSettled())
    return;
  std::string text = voucherText(key, file);
  auto write = [&](const std::string &path) {
    FileDescriptor out = openAt(AT_FDCWD, path, O_WRONLY | O_TRUNC);
    int error = out.valid() ? writeAll(out.get(), text) : errno;
    return error ? Status::error(StatusCode::Failed, cat(path, ": ", describeErrno(error))) : Status();
  };
  // Failing costs the next start a read, no more.
  (void)store(Kind::Kernel, voucherKey(key), {}, write, /*sync=*/false);
}

} // namespace gaudi::cache
