//===- Publish.cpp - putting an entry into the store ----------------------===//
//
// State after a crash at any point: before the rename, a file in t/ that nobody reads; after it, the old or the new
// entry, both whole; power loss with unsynced data, an entry whose digest fails and which is made again.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Text.h"
#include "runtime/cache/CacheImpl.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/random.h>

namespace gaudi::cache {

/// Random, since pids repeat between containers that share a folder.
static std::string temporaryName() {
  uint64_t random[2] = {};
  (void)!::getrandom(random, sizeof random, GRND_NONBLOCK);
  return cat("t/", ::getpid(), '-', random[0], '-', random[1]);
}

/// Rename, making the two-digit folder when it is missing (the usual case does not pay for checking).
static int renameInto(int dirFd, const std::string &from, const std::string &to) {
  if (::renameat(dirFd, from.c_str(), dirFd, to.c_str()) == 0)
    return 0;
  if (errno != ENOENT)
    return errno;
  if (int error = makeDir(dirFd, to.substr(0, 4)))
    return error;
  return ::renameat(dirFd, from.c_str(), dirFd, to.c_str()) == 0 ? 0 : errno;
}

std::string Cache::Impl::moveIntoPlace(int fd, const std::string &temporary, const std::string &name, bool sync) {
  struct stat before, written;
  bool replaces = ::fstatat(dir.get(), name.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0;
  if ((sync && ::fdatasync(fd) != 0) || ::fstat(fd, &written) != 0)
    return describeErrno(errno);
  if (int error = renameInto(dir.get(), temporary, name))
    return describeErrno(error);
  if (sync)
    (void)syncDir(dir.get(), name.substr(0, 4)); // the entry is whole either way
  shards.add(
      {.puts = 1, .storedBytes = written.st_size - (replaces ? before.st_size : 0), .storedFiles = replaces ? 0 : 1});
  return {};
}

/// Appends metadata and record to the payload that `write` left in `temporary`; `fd` becomes its descriptor.
static std::string appendRecord(int dirFd, const std::string &temporary, Kind kind, const Key &key,
                                const Metadata &metadata, FileDescriptor &fd) {
  // Opened anew: a writer may have replaced the file by renaming its own over it.
  fd = openAt(dirFd, temporary, O_RDWR | O_APPEND);
  struct stat info;
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0)
    return describeErrno(errno);
  Digest128 digest;
  auto payloadBytes = static_cast<uint64_t>(info.st_size);
  if (int error = digestFile(fd.get(), payloadBytes, digest))
    return describeErrno(error);
  std::string tail = encodeMetadata(metadata);
  Record record = makeRecord(kind, key, metadata, tail, payloadBytes, digest);
  tail.append(reinterpret_cast<const char *>(&record), sizeof record);
  int error = writeAll(fd.get(), tail);
  return error ? describeErrno(error) : std::string();
}

std::string Cache::Impl::store(Kind kind, const Key &key, const Metadata &metadata, const Writer &write, bool sync) {
  std::string temporary = temporaryName(), why;
  if (FileDescriptor created = openAt(dir.get(), temporary, O_RDWR | O_CREAT | O_EXCL); !created.valid())
    return cat(root, '/', temporary, ": ", describeErrno(errno));
  FileDescriptor fd;
  if (Status status = write(cat(root, '/', temporary)); !status.ok())
    why = status.message();
  if (why.empty())
    why = appendRecord(dir.get(), temporary, kind, key, metadata, fd);
  if (struct stat info; why.empty() && ::fstat(fd.get(), &info) == 0 && uint64_t(info.st_size) > options.maxBytes)
    why = cat("entry of ", formatBytes(uint64_t(info.st_size)), " is larger than the whole cache may be (",
              formatBytes(options.maxBytes), ", --cache-max-size)");
  if (why.empty())
    why = moveIntoPlace(fd.get(), temporary, entryName(kind, key), sync);
  if (!why.empty())
    ::unlinkat(dir.get(), temporary.c_str(), 0);
  return why;
}

/// First byte in which the two files' payloads differ, or -1.
static int64_t firstDifference(int a, uint64_t sizeA, int b, uint64_t sizeB) {
  std::string left(64 << 10, '\0'), right(left.size(), '\0');
  uint64_t common = std::min(sizeA, sizeB);
  for (uint64_t at = 0; at < common;) {
    size_t piece = static_cast<size_t>(std::min<uint64_t>(left.size(), common - at));
    if (readAt(a, left.data(), piece, at) || readAt(b, right.data(), piece, at))
      return static_cast<int64_t>(at);
    for (size_t i = 0; i < piece; ++i)
      if (left[i] != right[i])
        return static_cast<int64_t>(at + i);
    at += piece;
  }
  return sizeA == sizeB ? -1 : static_cast<int64_t>(common);
}

/// Compares what `write` makes with the entry that is there, if a sound one is.
static Status compareWithEntry(int dirFd, const std::string &root, Kind kind, const Key &key, const Writer &write) {
  FileDescriptor stored = openAt(dirFd, entryName(kind, key), O_RDONLY);
  Entry entry;
  if (!stored.valid() || !readEntry(stored.get(), kind, &key, Depth::Payload, entry).empty())
    return {};
  std::string temporary = temporaryName();
  FileDescriptor fd = openAt(dirFd, temporary, O_RDWR | O_CREAT | O_EXCL);
  Status written = write(cat(root, '/', temporary));
  fd = openAt(dirFd, temporary, O_RDONLY);
  ::unlinkat(dirFd, temporary.c_str(), 0);
  struct stat info;
  if (!written.ok() || !fd.valid() || ::fstat(fd.get(), &info) != 0)
    return written;
  int64_t at = firstDifference(stored.get(), entry.record.payloadBytes, fd.get(), uint64_t(info.st_size));
  if (at < 0)
    return {};
  return Status::error(StatusCode::Failed,
                       cat(root, '/', entryName(kind, key),
                           ": compiling again gives other bytes (first difference at byte ", at, ", found ",
                           info.st_size, " bytes, expected ", entry.record.payloadBytes, ")"),
                       "the compiler is not deterministic here, or something it reads is missing from the key");
}

Expected<std::optional<Hit>> Cache::publish(Kind kind, const Key &key, const Metadata &metadata, const Writer &write) {
  std::optional<Hit> none;
  if (!impl->writes())
    return none;
  if (impl->options.mode == Mode::Verify)
    GAUDI_TRY(compareWithEntry(impl->dir.get(), impl->root, kind, key, write));
  if (std::string why = impl->store(kind, key, metadata, write, kind != Kind::Kernel); !why.empty()) {
    impl->warnOnce(cat("cannot store ", nameOf(kind), ' ', key.shortHex(), ": ", why));
    return none;
  }
  std::string name = entryName(kind, key);
  impl->enforceCaps(name);
  impl->shards.flush();
  if (kind == Kind::Weights)
    if (FileDescriptor fd = openAt(impl->dir.get(), name, O_RDONLY); fd.valid())
      impl->rememberSound(fd.get(), key); // its digest has just been made from its bytes
  struct stat info;
  uint64_t tailBytes = encodeMetadata(metadata).size() + sizeof(Record);
  if (::fstatat(impl->dir.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return none;
  return std::optional<Hit>(Hit{cat(impl->root, '/', name), uint64_t(info.st_size) - tailBytes, metadata.compileMs});
}

void Cache::putBlob(const Key &key, std::string_view bytes) {
  if (!impl->writes())
    return;
  std::string temporary = temporaryName(), name = entryName(Kind::Kernel, key);
  std::string file(bytes);
  Record record = makeRecord(Kind::Kernel, key, {}, {}, bytes.size(), xxh3(std::as_bytes(std::span(bytes))));
  file.append(reinterpret_cast<const char *>(&record), sizeof record);

  FileDescriptor fd = openAt(impl->dir.get(), temporary, O_RDWR | O_CREAT | O_EXCL);
  int error = fd.valid() ? writeAll(fd.get(), file) : errno;
  std::string why = error ? describeErrno(error) : impl->moveIntoPlace(fd.get(), temporary, name, false);
  if (!why.empty()) {
    ::unlinkat(impl->dir.get(), temporary.c_str(), 0);
    impl->warnOnce(cat("cannot store kernel ", key.shortHex(), ": ", why));
    return;
  }
  impl->enforceCaps(name);
}

} // namespace gaudi::cache
