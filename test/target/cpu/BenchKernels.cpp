//===- BenchKernels.cpp - GB/s of the bandwidth-bound kernels -------------===//
//
// bench_cpu_kernels [filter]: thread CPU time, minimum of many runs, bytes = operands read + results written once,
// beside memcpy of the same traffic. Also the compile time of each kernel by phase. Not a test; results in
// lib/Target/cpu/README.md.
//
//===----------------------------------------------------------------------===//
#include "test/target/cpu/KernelHarness.h"

#include <cstdio>
#include <cstring>
#include <time.h>

using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::cpu::test;

namespace {

double cpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

template <typename Run> double best(Run run) {
  double least = 1e9, spent = 0;
  for (int i = 0; i < 5 || spent < 0.3; ++i) {
    double start = cpuSeconds();
    run();
    double t = cpuSeconds() - start;
    least = std::min(least, t);
    spent += t;
  }
  return least;
}

struct Row {
  const char *name, *inputs, *body, *result; ///< inputs separated by ';'
};

const Row kRows[] = {
    {"add 1M", "tensor<1024x1024xf32>;tensor<1024x1024xf32>",
     "%r0 = graph.binary add %0, %1 : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>",
     "tensor<1024x1024xf32>"},
    {"bias+gelu 128x3072", "tensor<128x3072xf32>;tensor<3072xf32>",
     "%s = graph.binary add %0, %1 : tensor<128x3072xf32>, tensor<3072xf32> -> tensor<128x3072xf32>\n"
     "%r0 = graph.unary gelu %s : tensor<128x3072xf32> -> tensor<128x3072xf32>",
     "tensor<128x3072xf32>"},
    {"tanh 1M", "tensor<1048576xf32>", "%r0 = graph.unary tanh %0 : tensor<1048576xf32> -> tensor<1048576xf32>",
     "tensor<1048576xf32>"},
    {"f32->bf16 1M", "tensor<1048576xf32>",
     "%r0 = graph.cast %0 {to = bf16} : tensor<1048576xf32> -> tensor<1048576xbf16>", "tensor<1048576xbf16>"},
    {"layer_norm 128x768", "tensor<128x768xf32>;tensor<768xf32>;tensor<768xf32>",
     "%r0 = graph.layer_norm %0 scale(%1 : tensor<768xf32>) bias(%2 : tensor<768xf32>) {axis = 1, epsilon = 1.0e-5} : "
     "tensor<128x768xf32> -> tensor<128x768xf32>",
     "tensor<128x768xf32>"},
    {"residual+layer_norm 128x768", "tensor<128x768xf32>;tensor<128x768xf32>;tensor<768xf32>",
     "%s = graph.binary add %0, %1 : tensor<128x768xf32>, tensor<128x768xf32> -> tensor<128x768xf32>\n"
     "%r0 = graph.layer_norm %s scale(%2 : tensor<768xf32>) {axis = 1, epsilon = 1.0e-5} : tensor<128x768xf32> -> "
     "tensor<128x768xf32>",
     "tensor<128x768xf32>"},
    {"rms_norm 128x1024", "tensor<128x1024xf32>;tensor<1024xf32>",
     "%r0 = graph.rms_norm %0 scale(%1 : tensor<1024xf32>) {axis = 1, epsilon = 1.0e-6} : tensor<128x1024xf32> -> "
     "tensor<128x1024xf32>",
     "tensor<128x1024xf32>"},
    {"softmax 1536x128", "tensor<1536x128xf32>",
     "%r0 = graph.softmax %0 {axis = 1} : tensor<1536x128xf32> -> tensor<1536x128xf32>", "tensor<1536x128xf32>"},
    {"softmax 128x4096", "tensor<128x4096xf32>",
     "%r0 = graph.softmax %0 {axis = 1} : tensor<128x4096xf32> -> tensor<128x4096xf32>", "tensor<128x4096xf32>"},
    {"softmax 1024x77", "tensor<1024x77xf32>",
     "%r0 = graph.softmax %0 {axis = 1} : tensor<1024x77xf32> -> tensor<1024x77xf32>", "tensor<1024x77xf32>"},
    {"transpose 1024x1024", "tensor<1024x1024xf32>",
     "%r0 = graph.transpose %0 {permutation = array<i64: 1, 0>} : tensor<1024x1024xf32> -> tensor<1024x1024xf32>",
     "tensor<1024x1024xf32>"},
    {"transpose 320x4096", "tensor<320x4096xf32>",
     "%r0 = graph.transpose %0 {permutation = array<i64: 1, 0>} : tensor<320x4096xf32> -> tensor<4096x320xf32>",
     "tensor<4096x320xf32>"},
    {"transpose 1024x1024 i8", "tensor<1024x1024xi8>",
     "%r0 = graph.transpose %0 {permutation = array<i64: 1, 0>} : tensor<1024x1024xi8> -> tensor<1024x1024xi8>",
     "tensor<1024x1024xi8>"},
    {"heads 0213 1x128x12x64", "tensor<1x128x12x64xf32>",
     "%r0 = graph.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : tensor<1x128x12x64xf32> -> "
     "tensor<1x12x128x64xf32>",
     "tensor<1x12x128x64xf32>"},
    {"concat 640+320 @32", "tensor<1x640x1024xf32>;tensor<1x320x1024xf32>",
     "%r0 = graph.concat %0, %1 {axis = 1} : tensor<1x640x1024xf32>, tensor<1x320x1024xf32> -> tensor<1x960x1024xf32>",
     "tensor<1x960x1024xf32>"},
    {"pad 320@64", "tensor<1x320x64x64xf32>",
     "%r0 = graph.pad %0 {pads = array<i64: 0, 0, 1, 1, 0, 0, 1, 1>} : tensor<1x320x64x64xf32> -> "
     "tensor<1x320x66x66xf32>",
     "tensor<1x320x66x66xf32>"},
    {"embedding 128x768", "tensor<30522x768xf32>;tensor<128xi64>",
     "%r0 = graph.gather %0, %1 {axis = 0} : tensor<30522x768xf32>, tensor<128xi64> -> tensor<128x768xf32>",
     "tensor<128x768xf32>"},
    {"reduce sum axis0 1024x1024", "tensor<1024x1024xf32>",
     "%r0 = graph.reduce sum %0 {axes = array<i64: 0>} : tensor<1024x1024xf32> -> tensor<1024xf32>",
     "tensor<1024xf32>"},
    {"reduce sum axis1 1024x1024", "tensor<1024x1024xf32>",
     "%r0 = graph.reduce sum %0 {axes = array<i64: 1>} : tensor<1024x1024xf32> -> tensor<1024xf32>",
     "tensor<1024xf32>"},
    {"argmax 1x32128", "tensor<1x32128xf32>",
     "%r0 = graph.arg_reduce %0 {axis = 1} : tensor<1x32128xf32> -> tensor<1xi64>", "tensor<1xi64>"},
};

void bench(const Row &row) {
  Case c;
  llvm::SmallVector<llvm::StringRef> inputs;
  llvm::StringRef(row.inputs).split(inputs, ';');
  for (llvm::StringRef t : inputs)
    c.inputs.push_back(t.str());
  c.body = row.body;
  c.results = {row.result};
  Parsed parsed = parse(moduleText(c));
  Expected<Isa> isa = resolveIsa("native");
  BuildOptions options;
  Expected<BuildResult> built = buildKernels(parsed.main(), *isa, options);
  if (!built.ok())
    return (void)printf("%s: %s\n", row.name, built.status().message().c_str());
  LoadedKernels kernels(built->code);
  const BuiltKernel &kernel = built->kernels[0];
  KernelFn fn = kernels.find(kernel.symbol);
  std::vector<std::vector<char>> buffers;
  std::vector<void *> args;
  double bytes = 0;
  auto group = *parsed.main().getOps<graph::GroupOp>().begin();
  auto add = [&](mlir::Type type) {
    auto t = llvm::cast<mlir::RankedTensorType>(type);
    size_t n = t.getNumElements() * std::max(1u, t.getElementTypeBitWidth() / 8);
    buffers.emplace_back(n + 64);
    for (size_t i = 0; t.getElementType().isF32() && i < n / 4; ++i)
      reinterpret_cast<float *>(buffers.back().data())[i] = static_cast<float>(i * 2654435761u % 1000) / 500 - 1;
    args.push_back(buffers.back().data());
    bytes += n < (32u << 20) ? n : 0; // an embedding table is not read as a whole
  };
  for (mlir::Type t : group.getInputs().getTypes())
    add(t);
  for (mlir::Type t : group.getResultTypes())
    add(t);
  std::vector<char> scratch(kernel.plan.scratchBytes + 64);
  double t = best([&] { runAll(fn, kernel.plan, args, scratch.data()); });
  std::vector<char> from(bytes / 2), to(bytes / 2);
  double copy = best([&] { std::memcpy(to.data(), from.data(), from.size()); });
  const PhaseTimes &p = built->times;
  printf("%-28s %8.1f us %7.1f GB/s (memcpy %6.1f)  grid %4lu | emit %.1f passes %.1f opt %.1f codegen %.1f link %.1f "
         "ms\n",
         row.name, t * 1e6, bytes / t / 1e9, bytes / copy / 1e9, static_cast<unsigned long>(kernel.plan.grid), p.emitMs,
         p.passesMs, p.optimizeMs, p.codegenMs, p.linkMs);
}

} // namespace

int main(int argc, char **argv) {
  for (const Row &row : kRows)
    if (argc < 2 || std::string(row.name).find(argv[1]) != std::string::npos)
      bench(row);
}
