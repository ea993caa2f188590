//===- ThreadPool.h - parallel_for for kernels ------------------*- C++ -*-===//
#pragma once

#include "runtime/exec/KernelAbi.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace gaudi {

/// One kernel launch as the pool runs it.
struct Work {
  KernelFn kernel = nullptr;
  void *const *args = nullptr;
  int64_t grid = 0, chunk = 1;
};

/// A fixed team of workers for one Context. The caller of run() works too, as worker 0; only one thread may call run() at
/// a time. Workers that have nothing to do spin for a while (a launch every 50 us keeps them awake: an empty launch
/// costs 0.1 us then), and sleep on a futex after that.
class ThreadPool {
public:
  /// `threads` >= 1 counts the caller. `scratch` holds `scratchStride` bytes per worker.
  ThreadPool(unsigned threads, unsigned spinMicros, std::byte *scratch, uint64_t scratchStride);
  ~ThreadPool();

  /// Runs all tasks of the grid and returns the first fault (0 = none). Tasks are claimed in chunks, in no fixed order.
  int32_t run(const Work &work);

  unsigned threads() const { return static_cast<unsigned>(team.size()) + 1; }

private:
  void workerLoop(unsigned worker);
  void claimTasks(unsigned worker);
  uint32_t waitForWork(uint32_t seen);

  // Each on a cache line of its own: they are written by different threads.
  alignas(64) std::atomic<uint32_t> generation{0}; ///< bumped for every launch; workers sleep on it
  alignas(64) std::atomic<int64_t> next{0};        ///< first task not claimed yet
  alignas(64) std::atomic<uint32_t> busy{0};       ///< workers that have not finished the current launch
  alignas(64) std::atomic<uint32_t> sleepers{0};
  std::atomic<int32_t> fault{0};
  std::atomic<bool> stop{false};
  Work work;
  uint64_t spinNs;
  std::byte *scratch;
  uint64_t scratchStride;
  std::vector<std::thread> team;
};

} // namespace gaudi
