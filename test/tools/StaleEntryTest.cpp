//===- StaleEntryTest.cpp - entries that are whole, and useless -----------===//
//
// A cache entry can pass its digest and yet be no artefact that this build can load: written by a bug, or under a key
// that misses something. It must cost a compile, not every start until somebody deletes the cache.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Text.h"
#include "runtime/cache/Cache.h"
#include "test/runtime/TestArtifact.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

using namespace gaudi;

namespace {

struct Output {
  int code;
  std::string text; ///< stdout, then stderr
};

struct StaleEntry : testing::Test {
  std::string cacheDir = test::temporaryPath("cache"), model = test::temporaryPath("m.onnx");
  std::string programPath, weightsPath;

  void SetUp() override {
    ::setenv("GAUDI_CACHE_DIR", cacheDir.c_str(), 1);
    ASSERT_EQ(run(cat(GAUDI_PYTHON, " ", GAUDI_TEST_MODEL, " ", model)).code, 0);
    std::filesystem::remove_all(cacheDir);
    Output first = run(cat(GAUDI_OPT, " ", model, " --resolve -q"));
    ASSERT_EQ(first.code, 0) << first.text;
    programPath = field(first.text, "artifact"), weightsPath = field(first.text, "weights");
  }

  static Output run(const std::string &command) {
    std::string file = test::temporaryPath("out");
    int status = std::system(cat("{ ", command, "; } > ", file, " 2>&1").c_str());
    std::vector<std::byte> bytes = test::readFile(file);
    return {WEXITSTATUS(status), {reinterpret_cast<const char *>(bytes.data()), bytes.size()}};
  }
  static Output runModel(const std::string &flags = "") {
    return run(cat(GAUDI_RUN, " ", test::temporaryPath("m.onnx"), " --input x=ones ", flags));
  }
  static std::string field(const std::string &json, const std::string &name) {
    std::string start = cat("\"", name, "\":\"");
    size_t at = json.find(start);
    return at == json.npos ? "" : json.substr(at + start.size(), json.find('"', at + start.size()) - at - start.size());
  }

  /// Replaces the payload of an entry by `bytes`, with a digest that holds.
  void plant(cache::Kind kind, const std::string &path, std::span<const std::byte> bytes) {
    std::string hex =
        std::filesystem::path(path).parent_path().filename().string() + std::filesystem::path(path).stem().string();
    cache::Key key;
    ASSERT_TRUE(cache::Key::parse(hex, key)) << path;
    auto store = cache::Cache::open(cacheDir, {});
    auto hit = store->publish(kind, key, {.compileMs = 1, .label = "planted"}, [&](const std::string &to) {
      test::writeFile(to, bytes);
      return Status();
    });
    ASSERT_TRUE(hit.ok() && hit->has_value());
  }
  void plantProgram(test::TestArtifact artifact) {
    std::string file = test::temporaryPath("foreign.gdx");
    ASSERT_TRUE(writeArtifact(file, artifact.parts(/*embedWeights=*/false)).ok());
    plant(cache::Kind::Program, programPath, test::readFile(file));
  }

  /// The next run says why it compiles, and works; the one after it is an ordinary hit.
  static void expectRecompiled(const std::string &why) {
    Output r = runModel();
    EXPECT_EQ(r.code, 0) << r.text;
    EXPECT_NE(r.text.find("warning: cache: "), std::string::npos) << r.text;
    EXPECT_NE(r.text.find(why), std::string::npos) << r.text;
    EXPECT_NE(r.text.find("; compiling it again"), std::string::npos) << r.text;
    r = runModel();
    EXPECT_EQ(r.code, 0) << r.text;
    EXPECT_NE(r.text.find("cache: hit"), std::string::npos) << r.text;
    EXPECT_EQ(r.text.find("warning"), std::string::npos) << r.text;
  }
};

TEST_F(StaleEntry, NotAnArtefact) {
  std::string text = "something else";
  plant(cache::Kind::Program, programPath, std::as_bytes(std::span(text)));
  expectRecompiled("not a .gdx artefact");
}

TEST_F(StaleEntry, ForAnotherCpu) {
  test::TestArtifact artifact = test::makeTestArtifact();
  artifact.program.target->features = {"avx10.9"};
  plantProgram(std::move(artifact));
  expectRecompiled("needs avx10.9");
}

TEST_F(StaleEntry, KernelMissing) {
  test::TestArtifact artifact = test::makeTestArtifact();
  artifact.program.kernels[0]->symbol = "not_there";
  plantProgram(std::move(artifact));
  expectRecompiled("not_there");
}

TEST_F(StaleEntry, WeightsTooShort) {
  plant(cache::Kind::Weights, weightsPath, std::vector<std::byte>(5));
  expectRecompiled("packed weights are truncated");
}

// The compiler itself reads the program when it packs weights for it.
TEST_F(StaleEntry, FoundWhilePackingWeights) {
  std::filesystem::remove(weightsPath);
  std::string text = "something else";
  plant(cache::Kind::Program, programPath, std::as_bytes(std::span(text)));
  Output r = run(cat(GAUDI_OPT, " ", model, " --resolve -q"));
  EXPECT_EQ(r.code, 0) << r.text;
  EXPECT_NE(r.text.find("cannot be used: "), std::string::npos) << r.text;
  EXPECT_NE(r.text.find("\"cache\":\"miss\""), std::string::npos) << r.text;
  EXPECT_EQ(runModel().code, 0);
}

// Where compiling is forbidden, or was asked for another machine, the fault is reported.
TEST_F(StaleEntry, NotWhenCompilingWouldNotHelp) {
  plant(cache::Kind::Weights, weightsPath, std::vector<std::byte>(5));
  Output r = runModel("--cache=require");
  EXPECT_EQ(r.code, 8) << r.text;
  EXPECT_EQ(r.text.find("compiling it again"), std::string::npos) << r.text;
  EXPECT_EQ(runModel("--cache=ro").code, 0);
}

} // namespace
