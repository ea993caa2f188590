//===- CommandsTest.cpp - `cache` verbs -----------------------------------===//
#include "runtime/cache/Commands.h"
#include "TestSupport.h"

using namespace gaudi;
using namespace gaudi::cache;

namespace {
struct Commands : testing::Test {
  TempDir dir;
  void SetUp() override {
    auto cache = openFor(dir.path);
    put(*cache, 1, 1000, {.compileMs = 2500, .label = "bert.onnx", .components = {{"input-spec", keyOf(1), "1x128"}}});
    put(*cache, 2, 1000, {.compileMs = 100, .label = "bert.onnx", .components = {{"input-spec", keyOf(2), "4x128"}}});
    cache->putBlob(keyOf(3), "object");
    cache->lookup(Kind::Program, keyOf(1));
    cache->lookup(Kind::Program, keyOf(9));
  }
  Status run(const std::string &verb, std::string &out, const std::string &key = "", bool json = false) {
    return runCommand({.directory = dir.path, .verb = verb, .key = key, .maxBytes = 1300, .json = json}, out);
  }
};
bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }
} // namespace

TEST_F(Commands, Stats) {
  std::string out;
  ASSERT_TRUE(run("stats", out).ok());
  EXPECT_TRUE(has(out, "2: 1 hits (50 %), 1 misses, 0 corrupt")) << out;
  EXPECT_TRUE(has(out, "program   2 files")) << out;
  EXPECT_TRUE(has(out, "saved     2.5 s of compiling")) << out;
  out.clear();
  ASSERT_TRUE(run("stats", out, "", true).ok());
  EXPECT_TRUE(has(out, R"("hits":1,"misses":1,"corrupt":0)")) << out;
}

TEST_F(Commands, ListAndShow) {
  std::string out;
  ASSERT_TRUE(run("list", out).ok());
  EXPECT_TRUE(has(out, keyOf(1).shortHex() + "  program  20")) << out;
  out.clear();
  ASSERT_TRUE(run("show", out, keyOf(1).shortHex()).ok());
  EXPECT_TRUE(has(out, "compile   2.5 s")) << out;
  EXPECT_TRUE(has(out, "  input-spec          ")) << out;
  out.clear();
  ASSERT_TRUE(run("show", out, keyOf(1).shortHex(), true).ok());
  EXPECT_TRUE(has(out, R"("label":"bert.onnx","compile_ms":2500)")) << out;
}

TEST_F(Commands, ExplainComparesWithTheNearest) {
  std::string out;
  ASSERT_TRUE(run("explain", out, keyOf(1).shortHex()).ok());
  EXPECT_EQ(out,
            keyOf(1).shortHex() + ": nearest entry " + keyOf(2).shortHex() + " (bert.onnx) differs in input-spec\n");
  out.clear();
  ASSERT_TRUE(run("explain", out, keyOf(1).shortHex(), true).ok());
  EXPECT_TRUE(has(out, R"("differs_in":["input-spec"])")) << out;
}

TEST_F(Commands, VerifyQuarantinesAndFails) {
  std::string out;
  ASSERT_TRUE(run("verify", out).ok());
  EXPECT_EQ(out, "3 entries checked, 0 damaged\n");
  auto hit = openFor(dir.path)->lookup(Kind::Program, keyOf(1));
  std::fstream(hit->path, std::ios::in | std::ios::out | std::ios::binary).seekp(3).put('!');
  out.clear();
  Status status = run("verify", out);
  EXPECT_EQ(status.code(), StatusCode::Failed);
  EXPECT_EQ(status.message(), "cache: 1 of 3 entries are damaged");
  EXPECT_TRUE(has(out, "DAMAGED: digest mismatch in the payload")) << out;
  EXPECT_FALSE(std::filesystem::exists(hit->path));
}

TEST_F(Commands, PruneAndClear) {
  std::string out;
  ASSERT_TRUE(run("prune", out).ok());
  EXPECT_TRUE(has(out, " left\n") && has(out, "removed ")) << out;
  out.clear();
  ASSERT_TRUE(run("clear", out, "", true).ok());
  EXPECT_TRUE(has(out, R"("left_bytes":0)")) << out;
  EXPECT_EQ(openFor(dir.path)->statistics().hits, 0);
}

TEST_F(Commands, Errors) {
  std::string out;
  EXPECT_EQ(run("lst", out).message(), "cache: unknown verb 'lst'");
  EXPECT_EQ(run("lst", out).code(), StatusCode::Usage);
  EXPECT_EQ(run("show", out, "ab").message(), "cache: key 'ab' is too short (found 2 digits, expected at least 4)");
  EXPECT_EQ(run("show", out, "ffffffff").message(), "cache: no key starts with 'ffffffff'");
  auto cache = openFor(dir.path);
  Key twin = keyOf(1);
  twin.bytes[31] ^= 1;
  ASSERT_TRUE(cache->publish(Kind::Program, twin, {}, writerOf("x")).ok());
  EXPECT_EQ(run("show", out, keyOf(1).shortHex()).message(),
            "cache: several keys start with '" + keyOf(1).shortHex() + "'");
  Status missing = runCommand({.directory = "/nonexistent/x", .verb = "stats", .key = "", .json = false}, out);
  EXPECT_EQ(missing.code(), StatusCode::CacheMiss);
  EXPECT_EQ(missing.message(), "cache: cannot be used: /nonexistent/x: No such file or directory");
}
