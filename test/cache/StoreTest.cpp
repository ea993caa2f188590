//===- StoreTest.cpp - put, get, evict, lock ------------------------------===//
#include "TestSupport.h"
#include "runtime/cache/EntryFormat.h"

#include <thread>

using namespace gaudi;
using namespace gaudi::cache;

TEST(Store, EntryIsTheArtefactFollowedByARecord) {
  TempDir dir;
  auto cache = openFor(dir.path);
  ASSERT_TRUE(put(*cache, 1, 10'000, {.compileMs = 812.5, .label = "bert"}));
  auto hit = cache->lookup(Kind::Program, keyOf(1));
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->payloadBytes, 10'000u);
  EXPECT_DOUBLE_EQ(hit->savedMs, 812.5);
  EXPECT_EQ(readFile(hit->path, hit->payloadBytes), payloadOf(1));
  EXPECT_EQ(payloadLengthOf(hit->path), 10'000u);
  EXPECT_EQ(payloadLengthOf("/etc/passwd"), 0u);
  EXPECT_TRUE(std::filesystem::exists(dir.path + "/v1/CACHEDIR.TAG"));
}

TEST(Store, WriterMayReplaceTheFileByRename) {
  TempDir dir;
  auto cache = openFor(dir.path);
  auto hit = cache->publish(Kind::Program, keyOf(1), {}, [](const std::string &path) {
    Status status = writerOf(payloadOf(1))(path + ".own");
    std::filesystem::rename(path + ".own", path);
    return status;
  });
  ASSERT_TRUE(hit.ok() && hit->has_value());
  EXPECT_TRUE(cache->lookup(Kind::Program, keyOf(1)));
}

TEST(Store, KindsDoNotMix) {
  TempDir dir;
  auto cache = openFor(dir.path);
  ASSERT_TRUE(put(*cache, 1));
  EXPECT_FALSE(cache->lookup(Kind::Weights, keyOf(1)));
  EXPECT_FALSE(cache->getBlob(keyOf(1)));
  auto weights = cache->publish(Kind::Weights, keyOf(1), {}, writerOf("packed"));
  ASSERT_TRUE(weights.ok() && weights->has_value());
  EXPECT_EQ(readFile((*weights)->path, (*weights)->payloadBytes), "packed");
}

TEST(Store, ThousandsOfBlobsAreCheap) {
  TempDir dir;
  auto cache = openFor(dir.path);
  constexpr uint32_t count = 2000;
  auto begin = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < count; ++i)
    cache->putBlob(keyOf(i), payloadOf(i, 4000));
  auto middle = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < count; ++i)
    ASSERT_EQ(cache->getBlob(keyOf(i)), payloadOf(i, 4000));
  auto end = std::chrono::steady_clock::now();
  auto us = [](auto d) { return std::chrono::duration_cast<std::chrono::microseconds>(d).count() / count; };
  printf("blob put %ld us, get %ld us\n", long(us(middle - begin)), long(us(end - middle)));
}

TEST(Store, CapHoldsAfterEveryPutAndTheOldestGoFirst) {
  TempDir dir;
  constexpr uint64_t cap = 200'000;
  auto cache = openFor(dir.path, nullptr, {.maxBytes = cap});
  auto bytes = [&] {
    uint64_t sum = 0;
    for (auto &info : cache->list(false))
      sum += info.fileBytes;
    return sum;
  };
  for (uint32_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(put(*cache, i));
    auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(100 - i);
    std::filesystem::last_write_time(cache->lookup(Kind::Program, keyOf(i))->path, old);
    ASSERT_LE(bytes(), cap);
  }
  EXPECT_TRUE(cache->lookup(Kind::Program, keyOf(39)));
  EXPECT_TRUE(cache->lookup(Kind::Program, keyOf(30)));
  EXPECT_FALSE(cache->lookup(Kind::Program, keyOf(0)));
  Statistics s = cache->statistics();
  EXPECT_EQ(s.storedBytes, int64_t(bytes()));
  EXPECT_GT(s.evicted, 15);
}

TEST(Store, FileCapHolds) {
  TempDir dir;
  auto cache = openFor(dir.path, nullptr, {.maxFiles = 50});
  for (uint32_t i = 0; i < 120; ++i)
    cache->putBlob(keyOf(i), "x");
  EXPECT_LE(cache->list(false).size(), 50u);
}

TEST(Store, AnEntryLargerThanTheCapIsNotStored) {
  TempDir dir;
  std::vector<std::string> messages;
  auto cache = openFor(dir.path, &messages, {.maxBytes = 5000});
  EXPECT_FALSE(put(*cache, 1));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("larger than the whole cache may be (4.8 KiB, --cache-max-size)"), std::string::npos);
  EXPECT_EQ(countFiles(dir.path + "/v1/t"), 0u);
}

TEST(Store, LockMakesTheSecondWaitAndLeavesNoFile) {
  TempDir dir;
  auto cache = openFor(dir.path);
  std::atomic<int> inside = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      KeyLock held = cache->lock(keyOf(1));
      ASSERT_TRUE(held.held());
      most = std::max(most.load(), ++inside);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      --inside;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(countFiles(dir.path + "/v1/l"), 0u);
}

TEST(Store, LockGivesUpAfterItsLimit) {
  TempDir dir;
  std::vector<std::string> messages;
  auto cache = openFor(dir.path, &messages, {.lockTimeoutMs = 50});
  KeyLock held = cache->lock(keyOf(1));
  EXPECT_FALSE(cache->lock(keyOf(1)).held());
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("is still being made by another process after 0 s; compiling it here too"),
            std::string::npos);
  EXPECT_TRUE(cache->lock(keyOf(2)).held());
}

TEST(Store, StatisticsSurviveReopeningAndDamage) {
  TempDir dir;
  {
    auto cache = openFor(dir.path);
    put(*cache, 1, 100, {.compileMs = 1000, .label = ""});
    cache->lookup(Kind::Program, keyOf(1));
    cache->lookup(Kind::Program, keyOf(2));
  }
  auto cache = openFor(dir.path);
  Statistics s = cache->statistics();
  EXPECT_EQ(s.hits, 1);
  EXPECT_EQ(s.misses, 1);
  EXPECT_EQ(s.puts, 1);
  EXPECT_EQ(s.savedMs, 1000);
  EXPECT_EQ(s.storedBytes, 100 + 2 + 256);
  for (auto &file : std::filesystem::directory_iterator(dir.path + "/v1/s"))
    std::ofstream(file.path()) << "garbage";
  EXPECT_EQ(cache->statistics().hits, 0);
}

TEST(Store, ExplainNamesTheComponentThatDiffers) {
  TempDir dir;
  auto cache = openFor(dir.path);
  EXPECT_EQ(cache->explain({}), "the cache holds no program");
  std::vector<Component> stored = {
      {"module", keyOf(1), ""}, {"input-spec", keyOf(2), "1x128"}, {"target", keyOf(3), ""}};
  ASSERT_TRUE(put(*cache, 1, 100, {.compileMs = 1, .label = "bert.onnx", .components = stored}));
  std::vector<Component> far = {{"module", keyOf(9), ""}, {"input-spec", keyOf(9), ""}, {"target", keyOf(3), ""}};
  ASSERT_TRUE(put(*cache, 2, 100, {.compileMs = 1, .label = "other", .components = far}));
  std::vector<Component> asked = stored;
  asked[1] = {"input-spec", keyOf(7), "4x128"};
  EXPECT_EQ(cache->explain(asked), "nearest entry " + keyOf(1).shortHex() +
                                       " (bert.onnx) differs in input-spec (entry has 1x128, asked 4x128)");
  asked[1] = stored[1];
  asked[2] = {"target", keyOf(8), ""};
  asked.push_back({"salt", keyOf(1), ""});
  EXPECT_NE(cache->explain(asked).find("differs in target, salt (not in the entry)"), std::string::npos);
  EXPECT_NE(cache->explain(stored).find("has the same components"), std::string::npos);
}

TEST(Store, ThreadsShareOneCache) {
  TempDir dir;
  auto cache = openFor(dir.path, nullptr, {.maxBytes = 400'000});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 50; ++i) {
        uint32_t n = (i * 7 + t) % 40;
        cache->putBlob(keyOf(n), payloadOf(n, 4000));
        std::optional<std::string> back = cache->getBlob(keyOf(n)); // may have been evicted
        wrong += back && *back != payloadOf(n, 4000);
        if (i % 10 == 0)
          (void)put(*cache, n);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache->statistics().corrupt, 0);
}
