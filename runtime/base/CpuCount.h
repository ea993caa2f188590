//===- CpuCount.h - how many threads are worth starting ---------*- C++ -*-===//
#pragma once

namespace gaudi {

/// Physical cores that this process may use: its affinity mask without SMT siblings, capped by the cgroup's CPU quota.
/// At least 1. Vector code gains nothing from the second hardware thread of a core.
unsigned usableCores();

} // namespace gaudi
