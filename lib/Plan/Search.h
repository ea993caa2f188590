//===- Search.h - exact placement by branch and bound -----------*- C++ -*-===//
#pragma once

#include "lib/Plan/FirstFit.h"

namespace gaudi::plan {

/// Tries to improve `start`. Deterministic: the effort is counted in nodes, never in time. A node of a problem with
/// more than 50 blocks costs blocks / 50, which bounds the work at about 50 x nodeLimit block visits.
/// Returns `start` itself if nothing better was found.
Placement search(const std::vector<Block> &blocks, Placement start, Bytes lowerBound, uint64_t nodeLimit);

} // namespace gaudi::plan
