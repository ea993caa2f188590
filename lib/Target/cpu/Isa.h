//===- Isa.h - resolution of --target-cpu -----------------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "lib/Target/cpu/Kernel.h"

namespace gaudi::cpu {

/// "native", "x86-64-v2".."x86-64-v4", or an LLVM CPU name ("znver3"). Usage error for an unknown name.
Expected<Isa> resolveIsa(const std::string &targetCpu);

} // namespace gaudi::cpu
