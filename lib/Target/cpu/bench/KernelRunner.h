//===- KernelRunner.h - one group, compiled and called in this process ----===//
//
// What the runtime does, reduced to one kernel: shared by the kernel tests and by cpu-kernel-bench.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gaudi/Status.h"
#include "lib/Target/cpu/Isa.h"
#include "lib/Target/cpu/KernelBuild.h"
#include "runtime/exec/KernelAbi.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace gaudi::cpu {

/// A function with one group. Operands marked constant are `graph.constant`s (so they may be wanted as panels); their
/// values are passed at the call like all others.
class GroupModule {
public:
  struct Operand {
    mlir::RankedTensorType type;
    bool constant = false;
  };
  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange arguments)>;

  GroupModule(mlir::MLIRContext &context, llvm::StringRef kind, llvm::ArrayRef<Operand> operands, Body body);
  graph::GroupOp group() { return groupOp; }
  mlir::func::FuncOp function() { return func; }

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp func;
  graph::GroupOp groupOp;
};

/// A loaded kernel. Movable; unloads its code when destroyed.
class LoadedKernel {
public:
  /// Compiles and loads the group's kernel. `llvm` as in BuildOptions::printLlvm.
  static Expected<LoadedKernel> build(GroupModule &module, const Isa &isa, unsigned threads,
                                      llvm::raw_ostream *printLlvm = nullptr);
  const KernelPlan &plan() const { return kernel.plan; }
  llvm::StringRef symbol() const { return kernel.symbol; }
  /// Runs tasks [lo, hi).
  int32_t operator()(void *const *args, int64_t lo, int64_t hi, void *scratch) const {
    return fn(args, lo, hi, scratch);
  }

private:
  struct Unload {
    int fd; ///< kept open: dlopen knows libraries by path, and /proc/self/fd/N must stay this file
    void operator()(void *handle) const;
  };
  std::unique_ptr<void, Unload> library;
  KernelFn fn = nullptr;
  BuiltKernel kernel;
};

/// Row-major bytes `[k][n]` (or `[n][k]`) as zero-filled panels, see PanelLayout.
std::vector<char> packPanels(llvm::ArrayRef<char> matrix, const PanelLayout &layout, unsigned elementBytes);

} // namespace gaudi::cpu
