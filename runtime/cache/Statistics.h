//===- Statistics.h - counters shared between processes ---------*- C++ -*-===//
#pragma once

#include "runtime/cache/Cache.h"

#include <mutex>

namespace gaudi::cache {

/// Counters in s/00..15. Sixteen files so that processes seldom wait for each other; each is changed under its flock,
/// in one write. A damaged shard counts as zero: statistics are never worth an error.
class StatisticsShards {
public:
  /// `dirFd` is the cache's root; -1 = count nothing.
  void attach(int dirFd) { this->dirFd = dirFd; }

  /// Adds to this process's pending counters and writes them out every 256 additions (thousands of kernel look-ups must
  /// not cost a locked write each; a killed process loses at most these).
  void add(const Statistics &delta);
  void flush();
  /// Sum of all shards and the pending counters.
  Statistics total();
  /// Makes total().storedBytes and storedFiles equal to what a scan found.
  void setStored(uint64_t bytes, uint64_t files);

private:
  void flushLocked();

  std::mutex mutex;
  Statistics pending;
  unsigned additions = 0;
  int dirFd = -1;
};

} // namespace gaudi::cache
