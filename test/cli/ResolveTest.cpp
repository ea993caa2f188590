//===- ResolveTest.cpp - calling the compiler -----------------------------===//
#include "tools/gaudi-run/Resolve.h"
#include "IoSupport.h"

#include <fstream>

using namespace gaudi;
using namespace gaudi::run;
using gaudi::io::TempDir;

TEST(Resolve, ReadsTheAnswer) {
  auto r = parseResolution(R"({"artifact": "/c/a \"b\".gdx", "weights": "", "cache": "hit", "key": "9f3a0c12ee", )"
                           R"("compile_ms": 0, "saved_ms": 4.12e4, "later": null, "temporary": true})"
                           "\n");
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->artifact, "/c/a \"b\".gdx");
  EXPECT_EQ(r->savedMs, 41200);
  EXPECT_TRUE(r->temporary);
  EXPECT_EQ(describeCache(*r, 3.1), "cache: hit 9f3a0c12 load 3.1 ms (saved 41.2 s)");
  r->cache = "miss", r->compileMs = 812.3;
  EXPECT_EQ(describeCache(*r, 3.1), "cache: miss 9f3a0c12 compiled in 812 ms, load 3.1 ms");
}

TEST(Resolve, RefusesOtherAnswers) {
  for (const char *bad : {"", "{}", "{\"artifact\": \"a\"", "{\"artifact\": {}}", "{\"artifact\": \"a\"} x", "hello",
                          "{\"artifact\": \"a\", \"compile_ms\": \"x\"}"}) {
    auto r = parseResolution(bad);
    EXPECT_EQ(r.status().code(), StatusCode::Internal) << bad;
    EXPECT_EQ(r.status().message(), std::string("gaudi-opt: cannot read its answer (found '") + bad + "')");
  }
}

TEST(Resolve, BuildsTheCommandLine) {
  ModelOptions o;
  o.cacheMode = "require", o.cacheDir = "/c", o.shapes = {"a=1x2"}, o.dims = {"batch=4"}, o.targetCpu = "znver3";
  std::string all;
  for (const std::string &word : compilerArguments("gaudi-opt", "m.onnx", o, {"a=9x9", "b=3"}))
    all += word + " ";
  EXPECT_EQ(all, "gaudi-opt m.onnx --resolve --cache=require --cache-dir=/c --shape=a=1x2 --shape=b=3 --dim=batch=4 "
                 "--target-cpu=znver3 ");
  o.quiet = true;
  EXPECT_EQ(compilerArguments("gaudi-opt", "m.onnx", o, {}).back(), "--quiet");
}

namespace {
/// A stand-in for gaudi-opt: a shell script.
struct Child : testing::Test {
  TempDir dir;
  Expected<ResolvedModel> resolve(const std::string &script) {
    std::ofstream(dir.path + "/m.onnx") << "not a gdx";
    std::ofstream(dir.path + "/opt") << "#!/bin/sh\n" << script;
    std::filesystem::permissions(dir.path + "/opt", std::filesystem::perms::owner_all);
    ::setenv("GAUDI_OPT", (dir.path + "/opt").c_str(), 1);
    return resolveModel(dir.path + "/m.onnx", {}, {});
  }
};
} // namespace

TEST_F(Child, AnswerAndExitCodesPassThrough) {
  auto r = resolve("echo '{\"artifact\": \"'$1'\", \"cache\": \"miss\"}'");
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->artifact, dir.path + "/m.onnx");
  EXPECT_FALSE(r->temporary);
  EXPECT_TRUE(resolve("echo '{\"artifact\": \"a\", \"cache\": \"off\", \"temporary\": true}'")->temporary);
  EXPECT_FALSE(resolve("echo '{\"artifact\": \"a\", \"cache\": \"off\"}'")->temporary);
  r = resolve("echo some error >&2; exit 9");
  EXPECT_EQ(r.status().code(), StatusCode::CacheMiss);
  EXPECT_EQ(r.status().message(), "");
  r = resolve("kill -SEGV $$");
  EXPECT_EQ(r.status().code(), StatusCode::Internal);
  EXPECT_NE(r.status().message().find("ended by signal 11 while compiling"), std::string::npos);
}

TEST_F(Child, NoCompiler) {
  (void)resolve("");
  ::setenv("GAUDI_OPT", "/nonexistent/opt", 1);
  auto r = resolveModel(dir.path + "/m.onnx", {}, {});
  EXPECT_EQ(r.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(r.status().message(), "/nonexistent/opt: no compiler there, and the model is not a .gdx");
}

TEST(Resolve, Files) {
  EXPECT_EQ(resolveModel("/nonexistent.gdx", {}, {}).status().message(),
            "/nonexistent.gdx: cannot open: No such file or directory");
  EXPECT_EQ(resolveModel("/tmp", {}, {}).status().message(), "/tmp: not a regular file");
}

TEST(Resolve, TemporaryFilesAreRemoved) {
  TempDir dir;
  std::string folder = dir.path + "/gaudi-1";
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/a") << "x";
  ResolvedModel model;
  model.artifact = folder + "/a";
  removeTemporary(model);
  EXPECT_TRUE(std::filesystem::exists(folder + "/a"));
  model.temporary = true;
  removeTemporary(model);
  EXPECT_FALSE(std::filesystem::exists(folder));
}
