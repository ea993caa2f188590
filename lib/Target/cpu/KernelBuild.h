//===- KernelBuild.h - all groups of a model -> one ELF ---------*- C++ -*-===//
#pragma once

#include "lib/Target/cpu/Kernel.h"

namespace gaudi::cpu {

/// Groups of `main` that no emitter takes are replaced by single-op groups (composites decomposed), so that
/// buildKernels succeeds for every verified module. Run before materialising the frame.
mlir::LogicalResult splitUnclaimedGroups(mlir::func::FuncOp main, const Isa &isa, unsigned threads);

/// Emits, compiles (in parallel, each distinct kernel in its own contexts) and links the kernels of `main`'s groups.
/// Deterministic: independent of `jobs`.
Expected<BuildResult> buildKernels(mlir::func::FuncOp main, const Isa &isa, const BuildOptions &options);

} // namespace gaudi::cpu
