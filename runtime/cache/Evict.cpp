//===- Evict.cpp - keeping the cache within its size ----------------------===//
#include "runtime/base/Text.h"
#include "runtime/cache/CacheImpl.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <tuple>

namespace gaudi::cache {

std::vector<Cache::Impl::File> Cache::Impl::scan() const {
  std::vector<File> files;
  for (Kind kind : kAllKinds) {
    forEachName(dir.get(), folderOf(kind), [&](const std::string &group) {
      std::string folder = cat(folderOf(kind), '/', group);
      forEachName(dir.get(), folder, [&](const std::string &leaf) {
        struct stat info;
        std::string name = cat(folder, '/', leaf);
        if (::fstatat(dir.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
          files.push_back({kind, std::move(name), uint64_t(info.st_size), info.st_mtime});
      });
    });
  }
  // Name as the second key: eviction must not depend on the order of readdir.
  std::sort(files.begin(), files.end(),
            [](const File &a, const File &b) { return std::tie(a.modified, a.name) < std::tie(b.modified, b.name); });
  return files;
}

Cache::Pruned Cache::Impl::evict(std::vector<File> files, uint64_t maxBytes, uint64_t maxFiles,
                                 const std::string &keep) {
  Pruned done;
  uint64_t count = files.size();
  for (const File &file : files)
    done.leftBytes += file.bytes;
  for (const File &file : files) {
    if (done.leftBytes <= maxBytes && count <= maxFiles)
      break;
    // A process that has mapped the file keeps its pages: unlink is safe under readers.
    if (file.name == keep || ::unlinkat(dir.get(), file.name.c_str(), 0) != 0)
      continue;
    done.leftBytes -= file.bytes;
    done.bytes += file.bytes;
    ++done.files;
    --count;
  }
  shards.add({.evicted = int64_t(done.files)});
  shards.setStored(done.leftBytes, count);
  return done;
}

void Cache::Impl::enforceCaps(const std::string &keep) {
  auto over = [&] {
    Statistics now = shards.total();
    return now.storedBytes > int64_t(options.maxBytes) || now.storedFiles > int64_t(options.maxFiles);
  };
  if (!over())
    return;
  FileDescriptor guard = openAt(dir.get(), "evict.lock", O_RDWR | O_CREAT);
  if (!guard.valid() || (locks && ::flock(guard.get(), LOCK_EX | LOCK_NB) != 0))
    return; // another process is at it
  // Down to 90 %, so that not every put of a full cache scans it. Again if others stored meanwhile.
  for (int round = 0; round < 3 && over(); ++round)
    evict(scan(), options.maxBytes / 10 * 9, options.maxFiles / 10 * 9, keep);
  sweepTemporaries();
}

void Cache::Impl::sweepTemporaries() {
  for (const char *folder : {"t", "l"}) {
    forEachName(dir.get(), folder, [&](const std::string &leaf) {
      struct stat info;
      std::string name = cat(folder, '/', leaf);
      // The difference both ways: a stamp far in the future is from before the clock was set back. A live publisher
      // hit by that finds its file gone and goes on uncached.
      if (::fstatat(dir.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
          std::llabs(nowUnixSeconds() - info.st_mtime) <= 3600)
        return;
      if (folder[0] == 'l') { // a lock may be held for hours; remove it only while we hold it ourselves
        FileDescriptor fd = openAt(dir.get(), name, O_RDWR);
        if (fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0)
          ::unlinkat(dir.get(), name.c_str(), 0);
        return;
      }
      ::unlinkat(dir.get(), name.c_str(), 0);
    });
  }
}

Statistics Cache::statistics() {
  // A reader's shards are not attached, so that it writes nothing; it may still look.
  StatisticsShards reader;
  StatisticsShards &shards = impl->writes() ? impl->shards : reader;
  if (impl->dir.valid() && &shards == &reader)
    reader.attach(impl->dir.get());
  return shards.total();
}

std::vector<Cache::Info> Cache::list(bool verifyPayload) {
  std::vector<Info> infos;
  if (!impl->dir.valid())
    return infos;
  std::vector<Impl::File> files = impl->scan();
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    Info info = {.kind = file->kind,
                 .key = {},
                 .path = cat(impl->root, '/', file->name),
                 .fileBytes = file->bytes,
                 .modifiedUnixSeconds = file->modified,
                 .metadata = {},
                 .damage = {}};
    FileDescriptor fd = openAt(impl->dir.get(), file->name, O_RDONLY);
    Entry entry;
    if (!fd.valid() && errno == ENOENT)
      continue; // evicted since the scan
    if (!parseEntryName(file->kind, file->name, info.key))
      info.damage = "not a name this cache gives";
    else if (!fd.valid())
      info.damage = describeErrno(errno);
    else
      info.damage = readEntry(fd.get(), file->kind, &info.key, verifyPayload ? Depth::Payload : Depth::Record, entry);
    if (info.damage.empty()) {
      info.payloadBytes = entry.record.payloadBytes;
      info.metadata = std::move(entry.metadata);
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

void Cache::quarantine(const Info &entry) {
  if (!impl->writes())
    return;
  std::string name = entry.path.substr(impl->root.size() + 1);
  FileDescriptor fd = openAt(impl->dir.get(), name, O_RDONLY);
  if (!fd.valid())
    return;
  impl->quarantine(fd.get(), name);
  impl->shards.add({.corrupt = 1});
}

Cache::Pruned Cache::prune(uint64_t maxBytes) {
  if (!impl->writes())
    return {};
  impl->sweepTemporaries();
  return impl->evict(impl->scan(), maxBytes, UINT64_MAX, "");
}

Cache::Pruned Cache::clear() {
  if (!impl->writes())
    return {};
  impl->shards.flush();
  Pruned done = impl->evict(impl->scan(), 0, 0, "");
  for (const char *folder : {"q", "s", "t"})
    forEachName(impl->dir.get(), folder,
                [&](const std::string &leaf) { ::unlinkat(impl->dir.get(), cat(folder, '/', leaf).c_str(), 0); });
  return done;
}

} // namespace gaudi::cache
