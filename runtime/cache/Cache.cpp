//===- Cache.cpp - look-up and the produce-once protocol ------------------===//
#include "runtime/cache/Cache.h"
#include "runtime/base/Text.h"
#include "runtime/cache/CacheImpl.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fcntl.h>

namespace gaudi::cache {

static constexpr const char *folders[] = {"e", "k", "w"};
static constexpr std::string_view suffixes[] = {".gdx", ".obj", ".gdw"};

std::string folderOf(Kind kind) { return folders[static_cast<size_t>(kind)]; }

std::string entryName(Kind kind, const Key &key) {
  std::string hex = key.hex();
  return cat(folderOf(kind), '/', hex.substr(0, 2), '/', hex.substr(2), suffixes[static_cast<size_t>(kind)]);
}

bool parseEntryName(Kind kind, std::string_view name, Key &out) {
  std::string_view suffix = suffixes[static_cast<size_t>(kind)];
  if (name.size() != 5 + 62 + suffix.size() || !name.ends_with(suffix))
    return false;
  return Key::parse(cat(name.substr(2, 2), name.substr(5, 62)), out);
}

void Cache::Impl::warn(const std::string &message) {
  if (options.warn)
    options.warn("cache: " + message);
}

void Cache::Impl::warnOnce(const std::string &message) {
  if (!warned.exchange(true))
    warn(message + "; continuing without storing");
}

/// LRU order is mtime order. Refreshed at most hourly, to keep look-ups free of writes; a stamp from the future (the
/// clock went back) is mended at once, else the entry could never become the oldest. True if it was refreshed.
static bool touch(int fd) {
  struct stat info;
  return ::fstat(fd, &info) == 0 && std::llabs(nowUnixSeconds() - info.st_mtime) > 3600 && ::futimens(fd, nullptr) == 0;
}

void Cache::Impl::quarantine(int fd, const std::string &name) {
  struct stat opened, named;
  bool same = ::fstat(fd, &opened) == 0 && ::fstatat(dir.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
              opened.st_ino == named.st_ino;
  if (!same) // somebody has replaced or moved it since we read it
    return;
  std::string base = name;
  std::replace(base.begin(), base.end(), '/', '-');
  ::renameat(dir.get(), name.c_str(), dir.get(), cat("q/", nowUnixSeconds(), '-', base).c_str());

  std::vector<std::string> kept;
  forEachName(dir.get(), "q", [&](const std::string &n) { kept.push_back(n); });
  std::sort(kept.begin(), kept.end()); // by time, which leads the name
  for (size_t i = 0; i + 8 < kept.size(); ++i)
    ::unlinkat(dir.get(), ("q/" + kept[i]).c_str(), 0);
}

std::optional<Hit> Cache::lookup(Kind kind, const Key &key) {
  if (!impl->reads() || impl->options.mode == Mode::Refresh || impl->options.mode == Mode::Verify) {
    impl->shards.add({.misses = 1});
    return std::nullopt;
  }
  std::string name = entryName(kind, key);
  FileDescriptor fd = openAt(impl->dir.get(), name, O_RDONLY);
  if (!fd.valid()) {
    impl->shards.add({.misses = 1});
    return std::nullopt;
  }
  Entry entry;
  bool isKnown = kind == Kind::Weights && impl->isKnownSound(fd.get(), key);
  Depth depth = isKnown ? Depth::Record : Depth::Payload;
  if (std::string why = readEntry(fd.get(), kind, &key, depth, entry); !why.empty()) {
    impl->warn(cat(nameOf(kind), " entry ", key.shortHex(), " cannot be used: ", why));
    if (impl->writes())
      impl->quarantine(fd.get(), name);
    impl->shards.add({.misses = 1, .corrupt = 1});
    return std::nullopt;
  }
  bool touched = impl->writes() && touch(fd.get());
  if (kind == Kind::Weights && (!isKnown || touched))
    impl->rememberSound(fd.get(), key);
  double savedMs = entry.metadata.compileMs;
  impl->shards.add({.hits = 1, .savedMs = std::llround(savedMs)});
  return Hit{cat(impl->root, '/', name), entry.record.payloadBytes, savedMs};
}

std::optional<std::string> Cache::getBlob(const Key &key) {
  std::optional<Hit> hit = lookup(Kind::Kernel, key);
  if (!hit)
    return std::nullopt;
  FileDescriptor fd = openAt(impl->dir.get(), entryName(Kind::Kernel, key), O_RDONLY);
  std::string bytes(hit->payloadBytes, '\0');
  // Evicted or replaced between the two opens: as good as a miss. (A replacement has the same bytes by construction.)
  if (!fd.valid() || readAt(fd.get(), bytes.data(), bytes.size(), 0))
    return std::nullopt;
  return bytes;
}

static Status missStatus(const Cache &cache, const Key &key, std::string explanation) {
  std::string where = cache.path().empty() ? "cache" : cache.path();
  std::string why = cache.reason().empty() ? "" : cat(" (cache disabled: ", cache.reason(), ")");
  return Status::error(StatusCode::CacheMiss,
                       cat(where, ": no entry for key ", key.shortHex(), " and compiling is forbidden", why),
                       std::move(explanation));
}

Expected<Resolution> Cache::resolve(Kind kind, const Key &key, const Metadata &metadata,
                                    const std::function<Expected<Product>()> &produce) {
  Resolution result;
  result.entry = lookup(kind, key);
  KeyLock held;
  if (!result.entry && impl->options.mode == Mode::Require)
    return missStatus(*this, key, explain(metadata.components));
  if (!result.entry && impl->writes()) {
    held = lock(key);
    result.entry = held.held() ? lookup(kind, key) : std::nullopt;
  }
  if (result.entry) {
    result.hit = true;
    return result;
  }
  Expected<Product> product = produce();
  if (!product.ok())
    return product.takeStatus();
  result.product = product.take();
  Metadata stored = metadata;
  stored.compileMs = result.product.compileMs;
  Expected<std::optional<Hit>> published = publish(kind, key, stored, result.product.write);
  if (!published.ok())
    return published.takeStatus();
  result.entry = published.take();
  return result;
}

} // namespace gaudi::cache
