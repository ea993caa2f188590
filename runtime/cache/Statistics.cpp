//===- Statistics.cpp - counters shared between processes -----------------===//
#include "runtime/cache/Statistics.h"
#include "runtime/base/Text.h"
#include "runtime/cache/Files.h"

#include <cstring>
#include <fcntl.h>
#include <sys/file.h>

namespace gaudi::cache {

static constexpr unsigned kShards = 16;
static_assert(sizeof(Statistics) == 64, "the shards store it as it is: change kShardMagic with it");
static constexpr uint64_t kShardMagic = 0x3130544154534447; // "GDSTAT01"

namespace {
struct Shard {
  uint64_t magic;
  Statistics counters;
  Digest128 digest; ///< of the bytes before
};
} // namespace

static Digest128 digestOf(const Shard &shard) {
  return xxh3({reinterpret_cast<const std::byte *>(&shard), offsetof(Shard, digest)});
}

static void accumulate(Statistics &sum, const Statistics &delta) {
  sum.hits += delta.hits;
  sum.misses += delta.misses;
  sum.corrupt += delta.corrupt;
  sum.puts += delta.puts;
  sum.evicted += delta.evicted;
  sum.storedBytes += delta.storedBytes;
  sum.savedMs += delta.savedMs;
  sum.storedFiles += delta.storedFiles;
}

static std::string shardName(unsigned index) {
  return cat("s/", static_cast<char>('0' + index / 10), static_cast<char>('0' + index % 10));
}

static Statistics readShard(int fd) {
  Shard shard;
  if (fd < 0 || readAt(fd, &shard, sizeof shard, 0) || shard.magic != kShardMagic || shard.digest != digestOf(shard))
    return {};
  return shard.counters;
}

void StatisticsShards::add(const Statistics &delta) {
  if (dirFd < 0)
    return;
  std::lock_guard guard(mutex);
  accumulate(pending, delta);
  if (++additions >= 256)
    flushLocked();
}

void StatisticsShards::flush() {
  std::lock_guard guard(mutex);
  if (additions)
    flushLocked();
}

void StatisticsShards::flushLocked() {
  additions = 0;
  FileDescriptor fd = openAt(dirFd, shardName(static_cast<unsigned>(::getpid()) % kShards), O_RDWR | O_CREAT);
  if (!fd.valid() || ::flock(fd.get(), LOCK_EX) != 0)
    return;
  Shard shard = {kShardMagic, readShard(fd.get()), {}};
  accumulate(shard.counters, pending);
  shard.digest = digestOf(shard);
  if (::pwrite(fd.get(), &shard, sizeof shard, 0) == sizeof shard)
    pending = {};
}

Statistics StatisticsShards::total() {
  std::lock_guard guard(mutex);
  Statistics sum = pending;
  for (unsigned i = 0; dirFd >= 0 && i < kShards; ++i) {
    FileDescriptor fd = openAt(dirFd, shardName(i), O_RDONLY);
    // Shared lock: a write in progress would read as a damaged shard, hence as zero.
    if (fd.valid() && ::flock(fd.get(), LOCK_SH) == 0)
      accumulate(sum, readShard(fd.get()));
  }
  return sum;
}

void StatisticsShards::setStored(uint64_t bytes, uint64_t files) {
  Statistics now = total(), delta;
  delta.storedBytes = static_cast<int64_t>(bytes) - now.storedBytes;
  delta.storedFiles = static_cast<int64_t>(files) - now.storedFiles;
  add(delta);
  flush();
}

} // namespace gaudi::cache
