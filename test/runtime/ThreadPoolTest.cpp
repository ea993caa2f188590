//===- ThreadPoolTest.cpp - every task exactly once -----------------------===//
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/base/Clock.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>

using namespace gaudi;

namespace {

using Counter = std::atomic<int>;

/// args[0]: counters per task.
int32_t countTasks(void *const *args, int64_t lo, int64_t hi, void *scratch) {
  for (int64_t i = lo; i < hi; ++i)
    static_cast<Counter *>(args[0])[i].fetch_add(1, std::memory_order_relaxed);
  return 0;
}

int32_t nothing(void *const *, int64_t, int64_t, void *) { return 0; }

int32_t failAt(void *const *args, int64_t lo, int64_t hi, void *) {
  int64_t bad = *static_cast<int64_t *>(args[0]);
  return lo <= bad && bad < hi ? 42 : 0;
}

/// Writes its scratch and checks that nobody else does.
int32_t useScratch(void *const *args, int64_t lo, int64_t hi, void *scratch) {
  auto *mine = static_cast<int64_t *>(scratch);
  for (int i = 0; i < 8; ++i)
    mine[i] = lo;
  for (int spin = 0; spin < 100; ++spin)
    for (int i = 0; i < 8; ++i)
      if (static_cast<volatile int64_t *>(mine)[i] != lo)
        return 1;
  return 0;
}

struct Case {
  unsigned threads, spinMicros;
};

class Pool : public testing::TestWithParam<Case> {
protected:
  std::vector<std::byte> scratch = std::vector<std::byte>(64 * 16);
  ThreadPool pool{GetParam().threads, GetParam().spinMicros, scratch.data(), 64};
};

TEST_P(Pool, EveryTaskExactlyOnce) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    int64_t grid = random() % 40, chunk = 1 + random() % 6;
    auto counters = std::make_unique<Counter[]>(static_cast<size_t>(grid) + 1);
    void *args[] = {counters.get()};
    ASSERT_EQ(pool.run({countTasks, args, grid, chunk}), 0);
    for (int64_t i = 0; i <= grid; ++i)
      ASSERT_EQ(counters[static_cast<size_t>(i)], i < grid ? 1 : 0) << round;
  }
}

TEST_P(Pool, FaultsComeBackAndDoNotStick) {
  for (int64_t bad = 0; bad < 50; ++bad) {
    void *args[] = {&bad};
    EXPECT_EQ(pool.run({failAt, args, 50, 3}), 42);
    EXPECT_EQ(pool.run({nothing, args, 50, 3}), 0);
  }
}

TEST_P(Pool, ScratchIsPrivate) {
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(pool.run({useScratch, nullptr, 64, 1}), 0);
}

TEST_P(Pool, SleepersWake) {
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    auto counters = std::make_unique<Counter[]>(8);
    void *args[] = {counters.get()};
    ASSERT_EQ(pool.run({countTasks, args, 8, 1}), 0);
    for (int t = 0; t < 8; ++t)
      ASSERT_EQ(counters[static_cast<size_t>(t)], 1);
  }
}

TEST_P(Pool, EmptyLaunchCost) {
  pool.run({nothing, nullptr, 8, 1});
  constexpr int launches = 20000;
  uint64_t begin = nowNs();
  for (int i = 0; i < launches; ++i)
    pool.run({nothing, nullptr, 2, 1});
  std::printf("%u threads, spin %u us: %.2f us per empty launch\n", pool.threads(), GetParam().spinMicros,
              double(nowNs() - begin) / launches / 1000);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Pool, testing::Values(Case{1, 50}, Case{2, 50}, Case{2, 0}, Case{7, 20}));

} // namespace
