//===- ThreadPool.cpp - parallel_for for kernels --------------------------===//
#include "runtime/device/cpu/ThreadPool.h"

#include "runtime/base/Clock.h"

#include <algorithm>
#include <climits>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gaudi {

static_assert(sizeof(std::atomic<uint32_t>) == 4, "the futex is the atomic's own word");

static void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
static void futexWake(std::atomic<uint32_t> &word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}
static void relax() { __builtin_ia32_pause(); }

/// Layout of `gate`: [generation : 32][open : 1][workers inside : 31].
static constexpr uint64_t openBit = uint64_t(1) << 31, insideMask = openBit - 1;
static constexpr uint64_t openGate(uint32_t generation) { return uint64_t(generation) << 32 | openBit; }

ThreadPool::ThreadPool(unsigned threads, unsigned spinMicros, std::byte *scratch, uint64_t scratchStride)
    : spinNs(uint64_t(spinMicros) * 1000), scratch(scratch), scratchStride(scratchStride) {
  team.reserve(threads); // members are passed by address
  for (unsigned i = 1; i < threads; ++i) {
    team.push_back({this, i, {}});
    auto main = [](void *self) -> void * {
      auto *member = static_cast<Member *>(self);
      member->pool->workerLoop(member->worker);
      return nullptr;
    };
    // pthread and not std::thread, which can only report a refusal by an exception.
    if (pthread_create(&team.back().thread, nullptr, main, &team.back()) != 0) {
      team.pop_back();
      return;
    }
  }
}

ThreadPool::~ThreadPool() {
  stop = true;
  generation.fetch_add(1);
  futexWake(generation, INT_MAX);
  for (Member &member : team)
    pthread_join(member.thread, nullptr);
}

void ThreadPool::claimTasks(unsigned worker) {
  void *own = scratch + worker * scratchStride;
  for (;;) {
    int64_t low = next.fetch_add(work.chunk, std::memory_order_relaxed);
    if (low >= work.grid)
      return;
    int64_t high = std::min(low + work.chunk, work.grid);
    if (int32_t code = work.kernel(work.args, low, high, own)) {
      fault.store(code, std::memory_order_relaxed);
      next.store(work.grid, std::memory_order_relaxed);
    }
  }
}

/// Returns the new generation: spins first, then sleeps.
uint32_t ThreadPool::waitForLaunch(uint32_t seen) {
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

bool ThreadPool::tryJoin(uint32_t seen) {
  uint64_t value = gate.load(std::memory_order_relaxed);
  while ((value & ~insideMask) == openGate(seen))
    if (gate.compare_exchange_weak(value, value + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  return false;
}

void ThreadPool::workerLoop(unsigned worker) {
  uint32_t seen = 0;
  for (;;) {
    seen = waitForLaunch(seen);
    if (stop)
      return;
    if (!tryJoin(seen))
      continue;
    claimTasks(worker);
    gate.fetch_sub(1, std::memory_order_release);
  }
}

int32_t ThreadPool::run(const Work &launch) {
  if (launch.grid <= launch.chunk || team.empty()) // one chunk: waking others would cost more than it gains
    return launch.grid > 0 ? launch.kernel(launch.args, 0, launch.grid, scratch) : 0;
  work = launch;
  fault.store(0, std::memory_order_relaxed);
  next.store(0, std::memory_order_relaxed);
  uint32_t current = generation.load(std::memory_order_relaxed) + 1;
  gate.store(openGate(current), std::memory_order_release); // publishes the above to those who join
  generation.store(current);
  if (sleepers.load()) {
    int64_t useful = (launch.grid - 1) / launch.chunk; // chunks beside the caller's first
    futexWake(generation, static_cast<int>(std::min<int64_t>(useful, static_cast<int64_t>(team.size()))));
  }
  claimTasks(0);
  gate.fetch_and(~openBit, std::memory_order_relaxed);
  for (unsigned i = 0; gate.load(std::memory_order_acquire) & insideMask; ++i) {
    relax();
    constexpr unsigned patience = 1 << 12;
    if (i > patience)
      sched_yield(); // fewer cores than threads: let the worker finish its chunk
  }
  return fault.load(std::memory_order_relaxed);
}

} // namespace gaudi
