//===- CodegenFloats.h - float operations the CPU lacks ---------*- C++ -*-===//
#pragma once

#include "lib/Target/cpu/Kernel.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace gaudi::cpu {

/// Rewrites what LLVM would turn into library calls, which kernels must not make: fused multiply-adds without FMA,
/// f16 conversions without F16C, every bf16 conversion (the back end's is native only with AVX512-BF16, and flushes
/// denormals there), and f64 to 16 bits (rounded once, to odd through f32).
std::unique_ptr<mlir::Pass> createLegalizeFloatsPass(const Isa &isa);

} // namespace gaudi::cpu
