//===- KernelHarness.h - compile a group, run it, compare with graph ------===//
//
// Every kernel under test goes the whole way: group -> emitter -> object -> ELF -> dlopen. It runs on buffers that end
// at an unmapped page (a read or write past the end faults) with canaries in front, on a random split of its grid in
// random order, with garbage in scratch; then once more for every in-place permission. The reference is the graph
// evaluator.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "lib/Target/cpu/Isa.h"
#include "lib/Target/cpu/KernelBuild.h"
#include "runtime/exec/KernelAbi.h"

#include "mlir/IR/OwningOpRef.h"

#include <random>

namespace gaudi::cpu::test {

/// What random inputs look like.
enum class Fill {
  Plain,   ///< floats in [-4, 4], integers in [-20, 20]
  Special, ///< with NaN, infinities, signed zeros, denormals, huge values; integer extremes
  Index,   ///< integers in [0, indexLimit)
};

struct Tolerance {
  double absolute = 1e-6, relative = 1e-5; ///< for 32-bit floats; 16-bit types get 2 units in the last place more
};

struct Case {
  std::string kind = "pointwise";
  std::vector<std::string> inputs;  ///< types; block arguments %0, %1 ...
  std::string body;                 ///< ops; the results to yield are %r0, %r1 ...
  std::vector<std::string> results; ///< types
  std::vector<Fill> fills;          ///< per input; missing: Plain
  int64_t indexLimit = 1;
  double offset = 0; ///< added to float inputs before they are rounded
  Tolerance tolerance;
  std::string cpu = "native";
  unsigned threads = 2;
  KernelFault fault = KernelFault::None; ///< expected return value
};

/// A compiled and loaded shared object of kernels.
class LoadedKernels {
public:
  explicit LoadedKernels(const std::vector<char> &elf);
  ~LoadedKernels();
  LoadedKernels(const LoadedKernels &) = delete;
  KernelFn find(const std::string &symbol) const;
  std::string error;

private:
  void *handle = nullptr;
};

/// A buffer whose last byte is the last one of a mapped page.
class GuardedBuffer {
public:
  explicit GuardedBuffer(size_t bytes, size_t alignment = 1);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer &) = delete;
  char *data() const { return begin; }
  size_t size() const { return bytes; }
  bool frontIntact() const;

private:
  char *mapping = nullptr, *begin = nullptr;
  size_t mapped = 0, bytes = 0;
};

/// The function `main` with one group, as text.
std::string moduleText(const Case &c);
/// A context with the dialects that groups need, and the parsed module.
struct Parsed {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp main() { return *module->getOps<mlir::func::FuncOp>().begin(); }
};
Parsed parse(const std::string &text);

/// Empty if the case holds, else what is wrong. Compiles, runs and compares.
std::string check(const Case &c, uint32_t seed = 1);

/// Runs tasks [0, grid) of one kernel in order, for benchmarks.
int32_t runAll(KernelFn fn, const KernelPlan &plan, const std::vector<void *> &args, void *scratch);

} // namespace gaudi::cpu::test
