//===- ThreadPool.h - parallel_for for kernels ------------------*- C++ -*-===//
#pragma once

#include "runtime/exec/KernelAbi.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <vector>

namespace gaudi {

/// One kernel launch as the pool runs it.
struct Work {
  KernelFn kernel = nullptr;
  void *const *args = nullptr;
  int64_t grid = 0, chunk = 1;
};

/// A fixed team of workers for one Context. The caller of run() works too, as worker 0; only one thread may call run()
/// at a time. Workers that have nothing to do spin for a while (a launch every 50 us keeps them awake: an empty launch
/// costs 0.1 us then), and sleep on a futex after that.
///
/// Workers *join* a launch: one that wakes late finds it closed and goes back to sleep, and the caller waits only for
/// those that joined. So on a busy machine a launch takes never longer than on the caller alone plus one chunk.
class ThreadPool {
public:
  /// `threads` >= 1 counts the caller; fewer are started if the system refuses more. `scratch` holds `scratchStride`
  /// bytes per worker.
  ThreadPool(unsigned threads, unsigned spinMicros, std::byte *scratch, uint64_t scratchStride);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Runs all tasks of the grid and returns one of the faults (0 = none). Tasks are claimed in chunks, in no fixed
  /// order; after a fault no new chunk begins.
  int32_t run(const Work &work);

  unsigned threads() const { return static_cast<unsigned>(team.size()) + 1; }

private:
  struct Member {
    ThreadPool *pool;
    unsigned worker;
    pthread_t thread;
  };

  void workerLoop(unsigned worker);
  void claimTasks(unsigned worker);
  bool tryJoin(uint32_t seen);
  uint32_t waitForLaunch(uint32_t seen);

  // Each on a cache line of its own: they are written by different threads.
  alignas(64) std::atomic<uint32_t> generation{0}; ///< bumped for every launch; workers sleep on it
  /// Generation of the launch, whether workers may still join it, and how many are inside (layout in the .cpp).
  alignas(64) std::atomic<uint64_t> gate{0};
  alignas(64) std::atomic<int64_t> next{0}; ///< first task not claimed yet
  alignas(64) std::atomic<uint32_t> sleepers{0};
  std::atomic<int32_t> fault{0};
  std::atomic<bool> stop{false};
  Work work;
  uint64_t spinNs;
  std::byte *scratch;
  uint64_t scratchStride;
  std::vector<Member> team;
};

} // namespace gaudi
