//===- KernelBench.cpp - GFLOP/s of the matrix kernels --------------------===//
//
// cpu-kernel-bench [--target-cpu=native] [--seconds=0.3] [--only=TEXT]: thread CPU time, minimum of many runs; all
// shapes are run in turn, again and again, so that a noisy neighbour hits all of them alike.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/Codegen.h"
#include "lib/Target/cpu/bench/KernelRunner.h"

#include "llvm/Support/CommandLine.h"

#include <cstdio>
#include <random>
#include <time.h>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;

namespace {

/// Copied from the command line at the start: the in-process linker resets all llvm::cl options.
struct Options {
  std::string targetCpu, only, tile;
  double seconds;
  bool printLlvm;
  unsigned workers;
  std::vector<std::string> products;
};

Options parseOptions(int argc, char **argv) {
  using namespace llvm::cl;
  static opt<std::string> targetCpu("target-cpu", init("native"));
  static opt<double> seconds("seconds", init(0.3), desc("CPU time per case"));
  static opt<std::string> only("only", desc("cases whose name contains this"));
  static opt<std::string> tile("tile", desc("RxV instead of the table's register tile"));
  static opt<bool> printLlvm("print-llvm", desc("optimised IR on stderr"));
  static list<std::string> products("matmul", CommaSeparated, desc("MxNxK: these products only"));
  static opt<unsigned> workers("workers", init(2), desc("workers the grids are sized for"));
  ParseCommandLineOptions(argc, argv);
  return {targetCpu, only, tile, seconds, printLlvm, workers, {products.begin(), products.end()}};
}

double cpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/// 16 independent FMA chains of the widest vectors: what no kernel can exceed.
__attribute__((target("avx512f"))) double peakAvx512() {
  constexpr long rounds = 1000000;
  double best = 0;
  for (int repeat = 0; repeat < 9; ++repeat) {
    long n = rounds;
    double start = cpuSeconds();
#define CHAIN(r) "vfmadd231ps %%zmm30, %%zmm31, %%zmm" #r "\n"
    asm volatile("vpxorq %%zmm30, %%zmm30, %%zmm30\n vpxorq %%zmm31, %%zmm31, %%zmm31\n .p2align 5\n 1:\n" CHAIN(0)
                     CHAIN(1) CHAIN(2) CHAIN(3) CHAIN(4) CHAIN(5) CHAIN(6) CHAIN(7) CHAIN(8) CHAIN(9) CHAIN(10)
                         CHAIN(11) CHAIN(12) CHAIN(13) CHAIN(14) CHAIN(15) "dec %0\n jnz 1b\n"
                 : "+r"(n)::"zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9", "zmm10",
                   "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm30", "zmm31", "cc");
#undef CHAIN
    best = std::max(best, rounds * 16.0 * 32 / (cpuSeconds() - start) / 1e9);
  }
  return best;
}

struct Case {
  std::string name;
  double flops = 0;
  std::unique_ptr<LoadedKernel> kernel;
  std::vector<std::vector<char>> buffers;
  std::vector<void *> args;
  std::vector<char> scratch;
  double best = 1e9, spent = 0;

  void *align(std::vector<char> &v) {
    return reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(v.data()) + 63) & ~63ull);
  }
  void run() {
    double start = cpuSeconds();
    (*kernel)(args.data(), 0, kernel->plan().grid, align(scratch));
    double t = cpuSeconds() - start;
    best = std::min(best, t);
    spent += t;
  }
};

class Bench {
public:
  Bench(Isa isa, const Options &options) : isa(std::move(isa)), options(options) {
    DialectRegistry registry;
    registerCodegenDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  void add(const std::string &name, double flops, ArrayRef<GroupModule::Operand> operands, GroupModule::Body body) {
    if (name.find(options.only) == std::string::npos)
      return;
    GroupModule module(context, "bench", operands, body);
    Expected<LoadedKernel> kernel =
        LoadedKernel::build(module, isa, options.workers, options.printLlvm ? &llvm::errs() : nullptr);
    if (!kernel.ok()) {
      std::printf("%-44s %s\n", name.c_str(), kernel.status().message().c_str());
      return;
    }
    auto c = std::make_unique<Case>();
    c->name = name;
    c->flops = flops;
    c->kernel = std::make_unique<LoadedKernel>(kernel.take());
    for (auto [i, o] : llvm::enumerate(operands)) {
      int64_t count = o.type.getNumElements();
      if (const auto &layout = c->kernel->plan().inputLayouts[i])
        count = llvm::alignTo(layout->n, layout->panel) * layout->k;
      addBuffer(*c, o.type.getElementType(), count);
    }
    auto result = cast<RankedTensorType>(module.group().getResult(0).getType());
    addBuffer(*c, result.getElementType(), result.getNumElements());
    c->scratch.resize(c->kernel->plan().scratchBytes + 64);
    cases.push_back(std::move(c));
  }

  void report(double peak) {
    bool more = true;
    while (more) {
      more = false;
      for (auto &c : cases)
        if (c->spent < options.seconds) {
          c->run();
          more = true;
        }
    }
    for (auto &c : cases)
      std::printf("%-44s %10.1f us %8.1f GFLOP/s %5.1f %%  grid %llu scratch %llu KiB\n", c->name.c_str(),
                  c->best * 1e6, c->flops / c->best / 1e9, peak ? 100 * c->flops / c->best / 1e9 / peak : 0.0,
                  static_cast<unsigned long long>(c->kernel->plan().grid),
                  static_cast<unsigned long long>(c->kernel->plan().scratchBytes >> 10));
  }

  MLIRContext context;
  RankedTensorType f32(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, Float32Type::get(&context)); }
  RankedTensorType bf16(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, BFloat16Type::get(&context)); }

private:
  void addBuffer(Case &c, Type element, int64_t count) {
    unsigned bytes = std::max(8u, element.getIntOrFloatBitWidth()) / 8;
    auto &buffer = c.buffers.emplace_back(count * bytes + 128);
    void *data = c.align(buffer);
    for (int64_t i = 0; i < count; ++i) {
      float x = std::uniform_real_distribution<float>(-1, 1)(random);
      if (element.isF32())
        static_cast<float *>(data)[i] = x;
      else if (element.isBF16())
        static_cast<uint16_t *>(data)[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
      else
        static_cast<char *>(data)[i] = 1;
    }
    c.args.push_back(data);
  }

  Isa isa;
  const Options &options;
  std::mt19937 random{1};
  std::vector<std::unique_ptr<Case>> cases;
};

Value unary(OpBuilder &b, Location loc, graph::UnaryKind kind, Value x) {
  return graph::UnaryOp::create(b, loc, x.getType(), graph::UnaryKindAttr::get(b.getContext(), kind), x);
}
Value binary(OpBuilder &b, Location loc, graph::BinaryKind kind, Value x, Value y) {
  return graph::BinaryOp::create(b, loc, x.getType(), graph::BinaryKindAttr::get(b.getContext(), kind), x, y);
}

enum class Tail { none, bias, gelu, residual };

void addMatMul(Bench &bench, int64_t m, int64_t k, int64_t n, Tail tail, bool narrow = false) {
  static const char *names[] = {"", " bias", " bias gelu", " bias residual"};
  std::string name = "matmul " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                     names[int(tail)] + (narrow ? " bf16" : "");
  auto type = [&](ArrayRef<int64_t> s) { return narrow ? bench.bf16(s) : bench.f32(s); };
  SmallVector<GroupModule::Operand> operands = {{type({m, k})}, {type({k, n}), true}};
  if (tail != Tail::none)
    operands.push_back({type({n}), true});
  if (tail == Tail::residual)
    operands.push_back({type({m, n})});
  bench.add(name, 2.0 * m * n * k, operands, [&](OpBuilder &b, Location loc, ValueRange a) {
    Value x = graph::MatMulOp::create(b, loc, type({m, n}), a[0], a[1], false, false);
    if (tail != Tail::none)
      x = binary(b, loc, graph::BinaryKind::add, x, a[2]);
    if (tail == Tail::gelu)
      x = unary(b, loc, graph::UnaryKind::gelu, x);
    if (tail == Tail::residual)
      x = binary(b, loc, graph::BinaryKind::add, x, a[3]);
    return x;
  });
}

void addBatch(Bench &bench, int64_t batch, int64_t m, int64_t k, int64_t n, bool transposed) {
  std::string name = "batch " + std::to_string(batch) + "x" + std::to_string(m) + "x" + std::to_string(n) + "x" +
                     std::to_string(k) + (transposed ? " B^T" : "");
  auto rhs = transposed ? bench.f32({batch, n, k}) : bench.f32({batch, k, n});
  bench.add(name, 2.0 * batch * m * n * k, {{bench.f32({batch, m, k})}, {rhs}},
            [&](OpBuilder &b, Location loc, ValueRange a) -> Value {
              return graph::MatMulOp::create(b, loc, bench.f32({batch, m, n}), a[0], a[1], false, transposed);
            });
}

void addAttention(Bench &bench, int64_t batch, int64_t heads, int64_t s, int64_t skv, int64_t d, bool mask,
                  bool narrow = false) {
  std::string name = "attention " + std::to_string(batch) + "x" + std::to_string(heads) + "x" + std::to_string(s) +
                     "x" + std::to_string(skv) + " d" + std::to_string(d) + (mask ? " mask" : "") +
                     (narrow ? " bf16" : "");
  auto type = [&](ArrayRef<int64_t> sh) { return narrow ? bench.bf16(sh) : bench.f32(sh); };
  auto q = type({batch, s, heads, d}), k = type({batch, skv, heads, d});
  SmallVector<GroupModule::Operand> operands = {{q}, {k}, {k}};
  if (mask)
    operands.push_back({type({batch, 1, 1, skv})});
  bench.add(name, 4.0 * batch * heads * s * skv * d, operands, [&](OpBuilder &b, Location loc, ValueRange a) -> Value {
    return graph::AttentionOp::create(b, loc, q, a[0], a[1], a[2], mask ? a[3] : Value(),
                                      llvm::APFloat(1.0 / std::sqrt(double(d))), false, false, false, false);
  });
}

} // namespace

int main(int argc, char **argv) {
  Options options = parseOptions(argc, argv);
  Expected<Isa> isa = resolveIsa(options.targetCpu);
  if (!isa.ok()) {
    std::fprintf(stderr, "%s\n", isa.status().message().c_str());
    return 2;
  }
  Isa chosen = isa.take();
  if (!options.tile.empty())
    std::sscanf(options.tile.c_str(), "%ux%u", &chosen.matmulRows, &chosen.matmulVectors);
  double peak = __builtin_cpu_supports("avx512f") ? peakAvx512() : 0;
  std::printf("%s (%s), tile %ux%u, FMA peak %.1f GFLOP/s\n", chosen.cpu.c_str(), chosen.name.c_str(),
              chosen.matmulRows, chosen.matmulVectors, peak);
  Bench bench(chosen, options);
  for (const std::string &text : options.products) {
    long m, n, k;
    if (std::sscanf(text.c_str(), "%ldx%ldx%ld", &m, &n, &k) == 3)
      addMatMul(bench, m, k, n, Tail::bias);
  }
  if (!options.products.empty())
    return bench.report(peak), 0;
  for (int64_t m : {128, 1024}) { // BERT-base at batch 1 and 8
    addMatMul(bench, m, 768, 768, Tail::bias);
    addMatMul(bench, m, 768, 768, Tail::residual);
    addMatMul(bench, m, 768, 3072, Tail::gelu);
    addMatMul(bench, m, 3072, 768, Tail::residual);
  }
  for (int64_t m : {128, 4096}) { // MiniLM at batch 1 and 32
    addMatMul(bench, m, 384, 384, Tail::bias);
    addMatMul(bench, m, 384, 1536, Tail::gelu);
    addMatMul(bench, m, 1536, 384, Tail::residual);
  }
  for (int64_t m : {1, 2, 4, 8, 16})
    addMatMul(bench, m, 768, 768, Tail::bias);
  addMatMul(bench, 1, 768, 3072, Tail::gelu);
  addMatMul(bench, 128, 768, 768, Tail::bias, /*narrow=*/true);
  addMatMul(bench, 1, 1024, 4096, Tail::none, /*narrow=*/true);
  addBatch(bench, 12, 128, 64, 128, true);
  addBatch(bench, 12, 128, 128, 64, false);
  addBatch(bench, 8, 1024, 40, 1024, true);
  addAttention(bench, 1, 12, 128, 128, 64, true);
  addAttention(bench, 8, 12, 128, 128, 64, true);
  addAttention(bench, 32, 12, 128, 128, 32, true);
  addAttention(bench, 1, 8, 1024, 1024, 80, false);
  addAttention(bench, 1, 8, 4096, 4096, 40, false);
  addAttention(bench, 1, 12, 128, 128, 64, true, /*narrow=*/true);
  bench.report(peak);
}
