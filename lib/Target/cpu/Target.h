//===- Target.h - the x86-64 target -----------------------------*- C++ -*-===//
#pragma once

#include "lib/Target/Target.h"

namespace gaudi::cpu {

/// `cpu`: "native" or a name LLVM knows. Errors: Usage.
Expected<std::unique_ptr<Target>> createTarget(const std::string &cpu);

} // namespace gaudi::cpu
