//===- ModesTest.cpp - what each --cache= mode does -----------------------===//
#include "TestSupport.h"

using namespace gaudi;
using namespace gaudi::cache;

namespace {
/// Resolves key 1 in `mode`; counts compiles.
struct Outcome {
  Expected<Resolution> result;
  int compiles = 0;
};
} // namespace

static Outcome resolveIn(const std::string &dir, Mode mode, std::string payload = payloadOf(1),
                         std::vector<Component> components = {}) {
  Outcome run{Status(), 0};
  auto cache = openFor(dir, nullptr, {.mode = mode});
  run.result = cache->resolve(Kind::Program, keyOf(1), {.compileMs = 0, .label = "m", .components = components},
                              [&]() -> Expected<Product> {
                                ++run.compiles;
                                return Product{writerOf(payload), 500};
                              });
  return run;
}

TEST(Modes, NamesRoundTrip) {
  for (std::string_view name : {"off", "ro", "rw", "refresh", "require", "verify"}) {
    Mode mode;
    ASSERT_TRUE(parseMode(name, mode));
    EXPECT_EQ(nameOf(mode), name);
  }
  Mode mode;
  EXPECT_FALSE(parseMode("readwrite", mode));
}

TEST(Modes, ReadWriteCompilesOnce) {
  TempDir dir;
  Outcome first = resolveIn(dir.path, Mode::ReadWrite);
  ASSERT_TRUE(first.result.ok());
  EXPECT_FALSE(first.result->hit);
  ASSERT_TRUE(first.result->entry);
  Outcome second = resolveIn(dir.path, Mode::ReadWrite);
  EXPECT_TRUE(second.result->hit);
  EXPECT_EQ(second.compiles, 0);
  EXPECT_DOUBLE_EQ(second.result->entry->savedMs, 500);
}

TEST(Modes, OffNeitherReadsNorWrites) {
  TempDir dir;
  resolveIn(dir.path, Mode::ReadWrite);
  size_t files = countFiles(dir.path);
  Outcome run = resolveIn(dir.path, Mode::Off);
  EXPECT_EQ(run.compiles, 1);
  EXPECT_FALSE(run.result->entry);
  EXPECT_TRUE(run.result->product.write);
  EXPECT_EQ(countFiles(dir.path), files);
}

TEST(Modes, ReadOnlyHitsButWritesNothing) {
  TempDir dir;
  Outcome miss = resolveIn(dir.path, Mode::ReadOnly);
  EXPECT_EQ(miss.compiles, 1);
  EXPECT_EQ(countFiles(dir.path), 0u);
  resolveIn(dir.path, Mode::ReadWrite);
  size_t files = countFiles(dir.path);
  EXPECT_TRUE(resolveIn(dir.path, Mode::ReadOnly).result->hit);
  EXPECT_EQ(countFiles(dir.path), files);
}

TEST(Modes, RefreshReplaces) {
  TempDir dir;
  resolveIn(dir.path, Mode::ReadWrite);
  Outcome run = resolveIn(dir.path, Mode::Refresh, "new bytes");
  EXPECT_EQ(run.compiles, 1);
  Outcome after = resolveIn(dir.path, Mode::ReadWrite);
  EXPECT_EQ(after.result->entry->payloadBytes, 9u);
}

TEST(Modes, RequireFailsOnAMissAndExplainsIt) {
  TempDir dir;
  std::vector<Component> components = {{"input-spec", keyOf(1), "1x128"}};
  Outcome empty = resolveIn(dir.path, Mode::Require, "", components);
  EXPECT_EQ(empty.result.status().code(), StatusCode::CacheMiss);
  resolveIn(dir.path, Mode::ReadWrite, "x", components);
  EXPECT_TRUE(resolveIn(dir.path, Mode::Require).result->hit);

  auto cache = openFor(dir.path, nullptr, {.mode = Mode::Require});
  auto miss = cache->resolve(Kind::Program, keyOf(2),
                             {.compileMs = 0, .label = "", .components = {{"input-spec", keyOf(2), "4x128"}}},
                             []() -> Expected<Product> {
                               ADD_FAILURE();
                               return Product{};
                             });
  EXPECT_EQ(miss.status().code(), StatusCode::CacheMiss);
  EXPECT_EQ(miss.status().message(),
            dir.path + "/v1: no entry for key " + keyOf(2).shortHex() + " and compiling is forbidden");
  EXPECT_NE(miss.status().hint().find("differs in input-spec (entry has 1x128, asked 4x128)"), std::string::npos);
}

TEST(Modes, VerifyFindsCompilesThatDiffer) {
  TempDir dir;
  resolveIn(dir.path, Mode::ReadWrite);
  EXPECT_TRUE(resolveIn(dir.path, Mode::Verify).result.ok());
  std::string changed = payloadOf(1);
  changed[1234] ^= 1;
  Outcome run = resolveIn(dir.path, Mode::Verify, changed);
  EXPECT_EQ(run.compiles, 1);
  EXPECT_EQ(run.result.status().code(), StatusCode::Failed);
  EXPECT_NE(run.result.status().message().find("gives other bytes (first difference at byte 1234"), std::string::npos);
  EXPECT_NE(resolveIn(dir.path, Mode::Verify, "short").result.status().message().find("found 5 bytes, expected 10000"),
            std::string::npos);
  EXPECT_EQ(countFiles(dir.path + "/v1/t"), 0u);
}

TEST(Modes, AFailedCompileLeavesNothing) {
  TempDir dir;
  auto cache = openFor(dir.path);
  auto result = cache->resolve(Kind::Program, keyOf(1), {}, []() -> Expected<Product> {
    return Status::error(StatusCode::Unsupported, "node 'x': no");
  });
  EXPECT_EQ(result.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(countFiles(dir.path + "/v1/e") + countFiles(dir.path + "/v1/t") + countFiles(dir.path + "/v1/l"), 0u);
}
