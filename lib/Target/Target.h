//===- Target.h - what every target gives the driver ------------*- C++ -*-===//
//
// A target turns an imported module into groups (its pipeline), and the groups into kernels: per group a symbol and a
// plan, and one blob of code for the artefact, whose form only the device of the same name knows. Targets.cpp lists
// them; nothing else outside a target's folder names one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gaudi/Status.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}
namespace mlir {
class OpPassManager;
}

namespace gaudi {

/// A 2-D constant operand wanted as panels `[ceil(N/panel)][K][panel]` (zero-filled tail columns) instead of row-major.
struct PanelLayout {
  unsigned panel;  ///< NR, elements
  bool transposed; ///< the graph constant is [N][K]
  int64_t k, n;
};

/// What the runtime and planner must know about a kernel.
struct KernelPlan {
  uint64_t grid = 1;         ///< number of tasks; independent, any order, parallel
  uint64_t chunk = 1;        ///< tasks claimed at a time
  uint64_t scratchBytes = 0; ///< per worker
  /// Per group operand: the layout wanted (constants only), else nullopt = row-major.
  llvm::SmallVector<std::optional<PanelLayout>> inputLayouts;
  /// Per group result: operands whose storage it may take over (element i is read before it is written, by the same
  /// task).
  llvm::SmallVector<llvm::SmallVector<unsigned>> inPlace;
};

/// The kernel that a group launches; equal groups share one.
struct BuiltKernel {
  std::string symbol;
  KernelPlan plan;
};

/// CPU time of the phases of code generation, summed over kernels.
struct PhaseTimes {
  double emitMs = 0, passesMs = 0, optimizeMs = 0, codegenMs = 0, linkMs = 0;
};

struct BuildOptions {
  unsigned jobs = 1;                         ///< kernels compiled at a time
  unsigned threads = 2;                      ///< workers the grids are sized for
  llvm::raw_ostream *printKernels = nullptr; ///< MLIR of each distinct kernel before lowering (--emit=kernels)
  llvm::raw_ostream *printLlvm = nullptr;    ///< --emit=llvm; both need jobs = 1
  std::function<void(unsigned done, unsigned total)> progress;
  /// Second-level cache of object code. `text` identifies the kernel completely, together with the ISA and the
  /// compiler.
  std::function<std::optional<std::vector<char>>(const std::string &text)> getObject;
  std::function<void(const std::string &text, const std::vector<char> &object)> putObject;
};

struct BuildResult {
  std::vector<BuiltKernel> kernels; ///< one per group, in order
  std::vector<char> code;           ///< of all symbols, in the form that the device wants; empty without kernels
  unsigned distinct = 0, compiled = 0;
  PhaseTimes times; ///< summed over kernels
};

/// Recorded in the artefact, and checked by the device at load.
struct TargetInfo {
  std::string device, triple, cpu;
  std::vector<std::string> features; ///< sorted
};

/// Immutable. Deterministic: same module and options give the same bytes, whatever the number of jobs.
class Target {
public:
  virtual ~Target() = default;
  virtual TargetInfo info() const = 0;
  /// Passes from the `static` to the `grouped` stage. `pm` runs on builtin.module.
  virtual void buildPipeline(mlir::OpPassManager &pm) const = 0;
  /// Last changes to @main's groups, after which build() succeeds for every verified module. Emits diagnostics.
  virtual llvm::LogicalResult claimGroups(mlir::func::FuncOp main, unsigned threads) const = 0;
  /// Makes the kernels of @main's groups.
  virtual Expected<BuildResult> build(mlir::func::FuncOp main, const BuildOptions &options) const = 0;
};

/// `device` as given to --target; `cpu` as given to --target-cpu. Errors: Usage.
Expected<std::unique_ptr<Target>> createTarget(const std::string &device, const std::string &cpu);

/// The names that createTarget knows.
std::vector<std::string> targetNames();

} // namespace gaudi
