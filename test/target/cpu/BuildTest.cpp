//===- BuildTest.cpp - from groups to one ELF: whole-build properties -----===//
#include "lib/Target/cpu/Link.h"
#include "test/target/cpu/KernelHarness.h"

#include "dialects/graph/Evaluate.h"
#include "lib/Target/cpu/Codegen.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>
#include <mutex>

using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::cpu::test;

namespace {

/// Six groups, four of them distinct.
const char *const kModel = R"(
func.func @main(%x: tensor<8x40xf32>, %w: tensor<40xf32>) -> tensor<8x40xf32> {
  %a = graph.group "pointwise" (%x, %w) : (tensor<8x40xf32>, tensor<40xf32>) -> tensor<8x40xf32> {
  ^bb0(%0: tensor<8x40xf32>, %1: tensor<40xf32>):
    %r = graph.binary add %0, %1 : tensor<8x40xf32>, tensor<40xf32> -> tensor<8x40xf32>
    graph.yield %r : tensor<8x40xf32>
  }
  %b = graph.group "rows" (%a) : (tensor<8x40xf32>) -> tensor<8x40xf32> {
  ^bb0(%0: tensor<8x40xf32>):
    %r = graph.softmax %0 {axis = 1} : tensor<8x40xf32> -> tensor<8x40xf32>
    graph.yield %r : tensor<8x40xf32>
  }
  %c = graph.group "pointwise" (%b, %w) : (tensor<8x40xf32>, tensor<40xf32>) -> tensor<8x40xf32> {
  ^bb0(%0: tensor<8x40xf32>, %1: tensor<40xf32>):
    %r = graph.binary add %0, %1 : tensor<8x40xf32>, tensor<40xf32> -> tensor<8x40xf32>
    graph.yield %r : tensor<8x40xf32>
  }
  %d = graph.group "rows" (%c) : (tensor<8x40xf32>) -> tensor<8x40xf32> {
  ^bb0(%0: tensor<8x40xf32>):
    %r = graph.softmax %0 {axis = 1} : tensor<8x40xf32> -> tensor<8x40xf32>
    graph.yield %r : tensor<8x40xf32>
  }
  %e = graph.group "pointwise" (%d) : (tensor<8x40xf32>) -> tensor<8x40xf32> {
  ^bb0(%0: tensor<8x40xf32>):
    %r = graph.unary tanh %0 : tensor<8x40xf32> -> tensor<8x40xf32>
    graph.yield %r : tensor<8x40xf32>
  }
  %f = graph.group "generic" (%e) : (tensor<8x40xf32>) -> tensor<8x40xf32> {
  ^bb0(%0: tensor<8x40xf32>):
    %r = graph.cumsum %0 {axis = 1} : tensor<8x40xf32> -> tensor<8x40xf32>
    graph.yield %r : tensor<8x40xf32>
  }
  return %f : tensor<8x40xf32>
})";

BuildResult build(const BuildOptions &options, const char *cpu = "x86-64-v3") {
  Parsed parsed = parse(kModel);
  Expected<Isa> isa = resolveIsa(cpu);
  Expected<BuildResult> result = buildKernels(parsed.main(), *isa, options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.take();
}

} // namespace

TEST(Build, EqualGroupsShareAKernel) {
  BuildResult built = build({});
  EXPECT_EQ(built.kernels.size(), 6u);
  EXPECT_EQ(built.distinct, 4u);
  EXPECT_EQ(built.kernels[0].symbol, built.kernels[2].symbol);
  EXPECT_EQ(built.kernels[1].symbol, built.kernels[3].symbol);
  LoadedKernels loaded(built.code);
  ASSERT_EQ(loaded.error, "");
  for (const BuiltKernel &kernel : built.kernels)
    EXPECT_NE(loaded.find(kernel.symbol), nullptr) << kernel.symbol;
}

TEST(Build, SameBytesWhateverTheOrderOfCompilation) {
  BuildOptions parallel;
  parallel.jobs = 4;
  std::vector<char> first = build({}).code;
  EXPECT_EQ(first, build({}).code);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(first, build(parallel).code);
}

TEST(Build, ObjectCacheAndProgress) {
  std::map<std::string, std::vector<char>> store;
  std::mutex mutex;
  BuildOptions options;
  options.jobs = 2;
  unsigned calls = 0;
  options.progress = [&](unsigned done, unsigned total) {
    EXPECT_EQ(done, ++calls);
    EXPECT_EQ(total, 4u);
  };
  options.getObject = [&](const std::string &key) -> std::optional<std::vector<char>> {
    std::lock_guard lock(mutex);
    auto it = store.find(key);
    return it == store.end() ? std::nullopt : std::optional(it->second);
  };
  options.putObject = [&](const std::string &key, const std::vector<char> &object) {
    std::lock_guard lock(mutex);
    store[key] = object;
  };
  BuildResult cold = build(options);
  EXPECT_EQ(cold.compiled, 4u);
  calls = 0;
  BuildResult warm = build(options);
  EXPECT_EQ(warm.compiled, 0u);
  EXPECT_EQ(warm.code, cold.code);
  calls = 0;
  EXPECT_EQ(build(options, "x86-64-v2").compiled, 4u) << "another CPU must not hit";

  calls = 0;
  Parsed parsed = parse(kModel);
  Isa isa = *resolveIsa("x86-64-v3");
  isa.l2Bytes *= 4; // a host of the same name, with another L2: plans differ, so the code must too
  EXPECT_EQ(buildKernels(parsed.main(), isa, options)->compiled, 4u) << "other cache sizes must not hit";
}

TEST(Build, UnclaimedGroupsAreSplitAndKeepTheirMeaning) {
  Case c;
  std::string t = "tensor<4x6xf32>";
  c.inputs = {t};
  c.results = {t};
  // softmax of dim 0 decomposes; cumsum takes no neighbours.
  c.body = "%k = graph.constant dense<2.0> : tensor<f32>\n%m = graph.binary mul %0, %k : " + t + ", tensor<f32> -> " +
           t + "\n%s = graph.softmax %m {axis = 0} : " + t + " -> " + t + "\n%c = graph.cumsum %s {axis = 1} : " + t +
           " -> " + t + "\n%r0 = graph.unary neg %c : " + t + " -> " + t;
  Parsed parsed = parse(moduleText(c));
  Expected<Isa> isa = resolveIsa("x86-64-v3");
  graph::HostTensor input =
      graph::HostTensor::zeros(llvm::cast<mlir::RankedTensorType>(parsed.main().getArgumentTypes()[0]));
  for (size_t i = 0; i < input.floats().size(); ++i)
    input.floats()[i] = double(i % 7) - 3;
  llvm::SmallVector<graph::HostTensor> before, after;
  ASSERT_TRUE(succeeded(graph::evaluateRegion(parsed.main().getBody(), {input}, before, nullptr)));
  ASSERT_TRUE(succeeded(splitUnclaimedGroups(parsed.main(), *isa, 2)));
  EXPECT_GT(llvm::range_size(parsed.main().getOps<graph::GroupOp>()), 3u);
  ASSERT_TRUE(succeeded(graph::evaluateRegion(parsed.main().getBody(), {input}, after, nullptr)));
  for (size_t i = 0; i < input.floats().size(); ++i)
    EXPECT_NEAR(before[0].floats()[i], after[0].floats()[i], 1e-6);
  EXPECT_TRUE(buildKernels(parsed.main(), *isa, {}).ok());
}

namespace {

/// A hand-written kernel module.
Status compile(const std::string &body) {
  bool calls = body.find("log_it") != std::string::npos;
  Parsed parsed = parse("func.func @kernel(%in: memref<8xf32>, %out: memref<8xf32>, %lo: index, %hi: index, %scratch: "
                        "memref<0xi8>) -> i32 {\n" +
                        body + "\n  %z = arith.constant 0 : i32\n  return %z : i32\n}\n" +
                        (calls ? "func.func private @log_it(f32)" : ""));
  EXPECT_TRUE(parsed.module);
  Expected<Isa> isa = resolveIsa("x86-64-v3");
  CodegenOptions options;
  options.symbol = "probe_17";
  return compileKernel(*parsed.module, *isa, options).takeStatus();
}

} // namespace

TEST(Codegen, RefusesImports) {
  Status status = compile(
      "  %i = arith.constant 0 : index\n  %x = memref.load %in[%i] : memref<8xf32>\n  call @log_it(%x) : (f32) -> ()");
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_EQ(status.message(), "kernel probe_17: imports 'log_it'");
}

TEST(Codegen, AllowsMemcpy) { EXPECT_TRUE(compile("  memref.copy %in, %out : memref<8xf32> to memref<8xf32>").ok()); }

TEST(Codegen, RefusesLargeFrames) {
  Status status = compile(R"(
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 4096 : index
  %buffer = memref.alloca() : memref<4096xf32>
  scf.for %i = %lo to %hi step %c1 {
    %x = memref.load %in[%c0] : memref<8xf32>
    memref.store %x, %buffer[%i] : memref<4096xf32>
  }
  scf.for %i = %lo to %hi step %c1 {
    %j = arith.remui %i, %n : index
    %x = memref.load %buffer[%j] : memref<4096xf32>
    memref.store %x, %out[%c0] : memref<8xf32>
  })");
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(status.message().find("kernel probe_17: "), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("stack"), std::string::npos) << status.message();
}

TEST(Link, RefusesGarbageAndGoesOn) {
  Expected<std::vector<char>> linked = linkShared({{'n', 'o', 't', ' ', 'e', 'l', 'f'}});
  ASSERT_FALSE(linked.ok());
  EXPECT_EQ(linked.status().code(), StatusCode::Failed);
  EXPECT_FALSE(build({}).code.empty());
}
