//===- ThreadPool.cpp - parallel_for for kernels --------------------------===//
#include "runtime/exec/ThreadPool.h"

#include "runtime/base/Clock.h"

#include <algorithm>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace gaudi;

static_assert(sizeof(std::atomic<uint32_t>) == 4, "the futex is the atomic's own word");

static void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
static void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}
static void relax() { __builtin_ia32_pause(); }

ThreadPool::ThreadPool(unsigned threads, unsigned spinMicros, std::byte *scratch, uint64_t scratchStride)
    : spinNs(uint64_t(spinMicros) * 1000), scratch(scratch), scratchStride(scratchStride) {
  for (unsigned i = 1; i < threads; ++i)
    team.emplace_back([this, i] { workerLoop(i); });
}

ThreadPool::~ThreadPool() {
  stop = true;
  generation.fetch_add(1);
  futexWakeAll(generation);
  for (std::thread &t : team)
    t.join();
}

void ThreadPool::claimTasks(unsigned worker) {
  void *own = scratch + worker * scratchStride;
  for (;;) {
    int64_t low = next.fetch_add(work.chunk, std::memory_order_relaxed);
    if (low >= work.grid)
      return;
    int64_t high = std::min(low + work.chunk, work.grid);
    if (int32_t code = work.kernel(work.args, low, high, own))
      fault.store(code, std::memory_order_relaxed);
  }
}

/// Returns the new generation: spins first, then sleeps.
uint32_t ThreadPool::waitForWork(uint32_t seen) {
  uint64_t deadline = nowNs() + spinNs;
  for (unsigned i = 0;; ++i) {
    uint32_t current = generation.load(std::memory_order_acquire);
    if (current != seen)
      return current;
    relax();
    constexpr unsigned checkEvery = 64; // the clock costs as much as several pauses
    if (i % checkEvery || nowNs() < deadline)
      continue;
    // Sequentially consistent with run(): either it sees this sleeper or the futex sees its new generation.
    sleepers.fetch_add(1);
    futexWait(generation, seen);
    sleepers.fetch_sub(1);
  }
}

void ThreadPool::workerLoop(unsigned worker) {
  uint32_t seen = 0;
  for (;;) {
    seen = waitForWork(seen);
    if (stop)
      return;
    claimTasks(worker);
    busy.fetch_sub(1, std::memory_order_release);
  }
}

int32_t ThreadPool::run(const Work &launch) {
  if (launch.grid <= launch.chunk || team.empty()) // one chunk: waking others would cost more than it gains
    return launch.grid > 0 ? launch.kernel(launch.args, 0, launch.grid, scratch) : 0;
  work = launch;
  fault.store(0, std::memory_order_relaxed);
  next.store(0, std::memory_order_relaxed);
  busy.store(static_cast<uint32_t>(team.size()), std::memory_order_relaxed);
  generation.fetch_add(1); // publishes all of the above
  if (sleepers.load())
    futexWakeAll(generation);
  claimTasks(0);
  // Workers that never woke in time still have to pass: at most one wake-up latency.
  for (unsigned i = 0; busy.load(std::memory_order_acquire); ++i) {
    relax();
    constexpr unsigned patience = 1 << 14;
    if (i > patience)
      std::this_thread::yield(); // fewer cores than threads: let the worker run
  }
  return fault.load(std::memory_order_relaxed);
}
