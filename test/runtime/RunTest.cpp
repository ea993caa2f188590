//===- RunTest.cpp - open, run, misuse, concurrency -----------------------===//
#include "TestArtifact.h"

#include "gaudi/Runtime.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

using namespace gaudi;
using namespace gaudi::test;

namespace {

class Run : public testing::Test {
protected:
  Run() : artifact(makeTestArtifact()), path(temporaryPath("run.gdx")) {
    Status status = writeArtifact(path, artifact.parts());
    EXPECT_TRUE(status.ok()) << status.message();
  }

  std::shared_ptr<Executable> open(const OpenOptions &options = {}) {
    Expected<std::shared_ptr<Executable>> executable = Executable::open(path, options);
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    return executable.take();
  }

  std::unique_ptr<Context> context(unsigned threads = 2) { return open()->createContext({.threads = threads}).take(); }

  std::vector<TensorView> inputs() { return {{x.data(), x.size() * 4}, {ids.data(), ids.size() * 8}}; }
  std::vector<TensorView> outputs() { return {{y.data(), y.size() * 4}}; }

  TestArtifact artifact;
  std::string path;
  std::vector<float> x = testInput(), y = std::vector<float>(4 * 48);
  std::vector<int64_t> ids = {3, 0, 0, 2};
};

TEST_F(Run, ComputesTheProgram) {
  for (unsigned threads : {1u, 2u, 5u}) {
    auto ctx = context(threads);
    EXPECT_EQ(ctx->threads(), threads);
    for (int i = 0; i < 50; ++i) {
      std::fill(y.begin(), y.end(), -1.f);
      Status status = ctx->run(inputs(), outputs());
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(y, expectedOutput(artifact, x, ids));
    }
  }
}

TEST_F(Run, DescribesItself) {
  auto exe = open();
  EXPECT_EQ(toString(exe->inputs()[0]), "f32[4,32]");
  EXPECT_EQ(exe->inputs()[1].name, "ids");
  EXPECT_EQ(toString(exe->outputs()[0]), "f32[4,48]");
  EXPECT_EQ(exe->target(), "cpu x86-64 sse2");
  ASSERT_EQ(exe->kernels().size(), 2u);
  EXPECT_EQ(exe->kernels()[0].name, "dense");
  EXPECT_EQ(exe->kernels()[0].kernel, "matmul_bias");
  EXPECT_EQ(exe->kernels()[0].flops, 2. * 4 * 32 * 48);
  EXPECT_EQ(exe->memory().weights, artifact.program.weights_size);
  EXPECT_EQ(exe->memory().slab, 128u + 768);
  EXPECT_EQ(exe->memory().liveAtPeak[0].name, "h");
}

TEST_F(Run, ProfileHasOneEntryPerLaunch) {
  auto ctx = context();
  std::vector<KernelTime> times;
  ASSERT_TRUE(ctx->runProfiled(inputs(), outputs(), times).ok());
  ASSERT_TRUE(ctx->runProfiled(inputs(), outputs(), times).ok());
  ASSERT_EQ(times.size(), 4u);
  EXPECT_EQ(times[3].launch, 1u);
  EXPECT_LE(times[0].beginNs, times[0].endNs);
  EXPECT_LE(times[0].endNs, times[1].beginNs);
  EXPECT_EQ(y, expectedOutput(artifact, x, ids));
}

TEST_F(Run, KernelFaultNamesTheNode) {
  auto ctx = context();
  ids[2] = 4;
  Status status = ctx->run(inputs(), outputs());
  EXPECT_EQ(status.code(), StatusCode::Runtime);
  EXPECT_EQ(status.message(), "node 'embeddings': index out of range");
  EXPECT_NE(status.hint().find("token ids"), std::string::npos);
  ids[2] = 0; // the context stays usable
  EXPECT_TRUE(ctx->run(inputs(), outputs()).ok());
}

/// Row 36 of knowledge/runtime.md 6.3, and other misuse.
TEST_F(Run, WrongTensorsAreUsageErrors) {
  auto ctx = context();
  auto refused = [&](std::vector<TensorView> in, std::vector<TensorView> out, const char *message) {
    Status status = ctx->run(in, out);
    EXPECT_EQ(status.code(), StatusCode::Usage);
    EXPECT_EQ(status.message(), message);
  };
  auto in = inputs(), out = outputs();
  in[0].sizeBytes = 508;
  refused(in, out, "input 'x': got 508 bytes, need f32[4,32] (512 bytes)");
  out[0].sizeBytes += 4;
  refused(inputs(), out, "output 'y': got 772 bytes, need f32[4,48] (768 bytes)");
  refused({}, outputs(), "wrong number of inputs (found 0, expected 2)");
  refused(inputs(), {}, "wrong number of outputs (found 0, expected 1)");
  in = inputs();
  in[1].data = nullptr;
  refused(in, outputs(), "input 'ids': data is null");
  in = inputs();
  in[1].data = static_cast<char *>(in[1].data) + 4;
  refused(in, outputs(), "input 'ids': data is not aligned to its 8-byte elements");
  std::vector<float> shared(4 * 48);
  in = inputs();
  in[0].data = shared.data() + 64;
  refused(in, {{shared.data(), 768}}, "output 'y': overlaps input 'x'");
}

TEST_F(Run, BudgetIsCheckedBeforeAnyAllocation) {
  auto context = open()->createContext({.threads = 1, .memoryBudget = 100});
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.status().code(), StatusCode::ResourceLimit);
  EXPECT_NE(context.status().message().find("budget is 100"), std::string::npos) << context.status().message();
  EXPECT_TRUE(open()->createContext({.threads = 1, .memoryBudget = 1 << 20}).ok());
}

TEST_F(Run, ContextOutlivesTheCallersExecutable) {
  auto ctx = context(); // the shared_ptr of open() is gone
  EXPECT_TRUE(ctx->run(inputs(), outputs()).ok());
}

TEST_F(Run, ManyContextsOnManyThreads) {
  auto exe = open();
  std::vector<float> expected = expectedOutput(artifact, x, ids);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      auto ctx = exe->createContext({.threads = 2, .spinMicros = 10}).take();
      std::vector<float> own(4 * 48);
      TensorView out[] = {{own.data(), own.size() * 4}};
      for (int i = 0; i < 100; ++i)
        good += ctx->run(inputs(), out).ok() && own == expected;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, 400);
}

size_t openFiles() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

/// Mappings of this test's files and of kernels.
size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find(".gdx") != std::string::npos || line.find("gaudi-kernels") != std::string::npos;
  return count;
}

TEST_F(Run, OpenAndCloseLeakNothing) {
  context();
  size_t files = openFiles(), maps = mappings();
  EXPECT_EQ(maps, 0u);
  for (int i = 0; i < 100; ++i) {
    auto ctx = context();
    ASSERT_TRUE(ctx->run(inputs(), outputs()).ok());
  }
  EXPECT_EQ(openFiles(), files);
  EXPECT_EQ(mappings(), maps);
}

TEST_F(Run, TwoArtefactsWithEqualSymbolsStayApart) {
  TestArtifact other = makeTestArtifact();
  other.rodata.assign(other.rodata.size(), 0);
  std::string otherPath = temporaryPath("other.gdx");
  ASSERT_TRUE(writeArtifact(otherPath, other.parts()).ok());
  auto a = context(), b = Executable::open(otherPath, {}).take()->createContext({.threads = 1}).take();
  ASSERT_TRUE(b->run(inputs(), outputs()).ok());
  std::vector<float> fromB = y;
  ASSERT_TRUE(a->run(inputs(), outputs()).ok());
  EXPECT_EQ(y, expectedOutput(artifact, x, ids));
  EXPECT_NE(y, fromB);
}

TEST_F(Run, OtherDevices) {
  auto missing = Executable::open(path, {.device = "tpu"});
  EXPECT_EQ(missing.status().code(), StatusCode::Usage);
  EXPECT_EQ(missing.status().message(), path + ": no device 'tpu'");
  EXPECT_EQ(missing.status().hint(), "devices: cpu, ref, null");
  auto null = Executable::open(path, {.device = "null"});
  EXPECT_EQ(null.status().code(), StatusCode::Unsupported);
  auto other = Executable::open(path, {.device = "ref"});
  EXPECT_EQ(other.status().code(), StatusCode::BadArtifact);
  EXPECT_EQ(other.status().message(), path + ": compiled for device 'cpu', not 'ref'");
}

TEST_F(Run, RefWithoutItsLibrary) {
  ::setenv("GAUDI_REF_LIBRARY", "/nowhere/libgaudi_ref.so", 1); // before the first use in this process
  artifact.program.target->device = "ref";
  ASSERT_TRUE(writeArtifact(path, artifact.parts()).ok());
  auto exe = Executable::open(path, {});
  EXPECT_EQ(exe.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(exe.status().message(), "device 'ref': libgaudi_ref.so not found");
  EXPECT_EQ(exe.status().hint(), "it is built beside gaudi-opt; GAUDI_REF_LIBRARY can name its path");
}

} // namespace
