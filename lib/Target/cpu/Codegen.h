//===- Codegen.h - kernel module -> object code -----------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "lib/Target/cpu/Kernel.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace gaudi::cpu {

struct CodegenOptions {
  std::string symbol; ///< name of the C-ABI wrapper
  /// Buffer arguments (inputs, then outputs) that may share memory with another one: no noalias for these.
  llvm::SmallVector<bool> mayAlias;
  PhaseTimes *times = nullptr;            ///< added to
  llvm::raw_ostream *printLlvm = nullptr; ///< optimised LLVM IR goes here, for --emit=llvm
};

/// Lowers the one func.func of `module` (form: Kernel.h) to an x86-64 relocatable object with the function
/// `int32_t symbol(void *const *args, int64_t lo, int64_t hi, void *scratch)`. `module` is consumed. Thread-safe for
/// modules of different contexts. Errors are Internal: an emitter made something that cannot be compiled, calls a
/// library function, or needs more than 4 KiB of stack.
Expected<std::vector<char>> compileKernel(mlir::ModuleOp module, const Isa &isa, const CodegenOptions &options);

/// Registers what compileKernel needs (LLVM dialect translations) and the dialects that emitters build.
void registerCodegenDialects(mlir::DialectRegistry &registry);

} // namespace gaudi::cpu
