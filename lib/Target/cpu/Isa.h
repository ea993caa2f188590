//===- Isa.h - resolution of --target-cpu -----------------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "lib/Target/cpu/Kernel.h"

namespace gaudi::cpu {

/// "native", "x86-64-v2".."x86-64-v4", or an LLVM CPU name ("znver3"). Usage error for an unknown name.
Expected<Isa> resolveIsa(const std::string &targetCpu);

/// Every field as text, for keys: emitters look at all of them. The sizes of the caches decide how a kernel cuts its work
/// and how much scratch it uses, so code for other sizes must not be taken for this plan's.
std::string identityOf(const Isa &isa);

} // namespace gaudi::cpu
