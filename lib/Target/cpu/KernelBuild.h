//===- KernelBuild.h - all groups of a model -> one ELF ---------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "lib/Target/cpu/Codegen.h"
#include "lib/Target/cpu/Kernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace gaudi::cpu {

/// The kernel that a group launches; equal groups share one.
struct BuiltKernel {
  std::string symbol;
  KernelPlan plan;
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
  std::vector<char> elf;            ///< shared object with every symbol
  unsigned distinct = 0, compiled = 0;
  PhaseTimes times; ///< summed over kernels
};

/// Groups of `main` that no emitter takes are replaced by single-op groups (composites decomposed), so that
/// buildKernels succeeds for every verified module. Run before materialising the frame.
mlir::LogicalResult splitUnclaimedGroups(mlir::func::FuncOp main, const Isa &isa, unsigned threads);

/// Emits, compiles (in parallel, each distinct kernel in its own contexts) and links the kernels of `main`'s groups.
/// Deterministic: independent of `jobs`.
Expected<BuildResult> buildKernels(mlir::func::FuncOp main, const Isa &isa, const BuildOptions &options);

} // namespace gaudi::cpu
