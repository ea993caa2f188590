//===- Link.h - kernel objects -> one ELF shared object ---------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"

#include <vector>

namespace gaudi::cpu {

/// Links x86-64 relocatable objects into one position-independent shared object, in this process by lld (2 ms; a linker
/// process costs 15). Same bytes for the same input. Thread-safe (serialised: lld has global state).
Expected<std::vector<char>> linkShared(const std::vector<std::vector<char>> &objects);

} // namespace gaudi::cpu
