//===- CpuFeatures.h - what this CPU can execute ----------------*- C++ -*-===//
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gaudi {

/// ISA features that both the CPU has and the operating system has enabled, as LLVM feature names ("avx2", "fma",
/// "amx-tile"), sorted. Only instruction sets, never LLVM's tuning flags. Empty on other architectures than x86-64.
std::vector<std::string> hostCpuFeatures();

/// Those of `needed` that `available` (sorted) lacks.
std::vector<std::string> missingFeatures(std::span<const std::string> needed, std::span<const std::string> available);

/// Linux gives a process the AMX tile state only on request; a no-op without AMX. False if it was refused.
bool requestAmxPermission();

} // namespace gaudi
