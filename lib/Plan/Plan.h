//===- Plan.h - static memory planning: data in, data out -------*- C++ -*-===//
//
// Assigns byte offsets in one slab to buffers with known lifetimes. No MLIR here: the compiler fills a Problem from the
// rt module and writes the offsets back.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gaudi/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gaudi::plan {

using BufferId = uint32_t;
using Step = uint32_t; ///< index of a launch in program order
using Bytes = uint64_t;

/// Sentinel for "no buffer".
constexpr BufferId kNone = ~0u;

/// One buffer to place. Lifetime is the half-open interval [first, last) of steps.
struct Buffer {
  std::string name; ///< for reports
  Bytes size = 0;   ///< 0 is legal and takes no room
  Bytes align = 64; ///< power of two
  Step first = 0, last = 0;
  /// Fixed alias: this buffer is bytes [aliasOffset, aliasOffset + size) of `aliasOf` (a view). kNone = own storage.
  BufferId aliasOf = kNone;
  Bytes aliasOffset = 0;
  /// Buffers whose storage this one may take over, in order of preference: they must die at the step that defines
  /// this one (the kernel reads element i before it writes element i). The planner decides.
  std::vector<BufferId> inPlace;
};

struct Problem {
  std::vector<Buffer> buffers;
};

struct Options {
  Bytes budget = 0;            ///< 0 = none; exceeding it is ResourceLimit and names the minimum
  uint64_t nodeLimit = 200000; ///< branch-and-bound effort, never wall time: nodes, each counting blocks / 50
};

struct Plan {
  std::vector<Bytes> offsets;    ///< per buffer, aliases resolved
  std::vector<BufferId> storage; ///< per buffer, the buffer whose storage it uses (itself if own)
  Bytes peak = 0;                ///< slab size
  Bytes lowerBound = 0;          ///< largest sum of simultaneously live storage
  Step peakStep = 0;
  std::vector<BufferId> liveAtPeak; ///< largest first
  double ratio() const { return lowerBound ? double(peak) / double(lowerBound) : 1.0; }
};

/// Resolves aliases, takes in-place chances, then places: portfolio of first-fits, then branch and bound while the
/// ratio is above 1. Deterministic. Errors: InvalidInput for a malformed problem, ResourceLimit for the budget.
Expected<Plan> solve(const Problem &problem, const Options &options = {});

/// Independent check: every buffer inside the slab and aligned, no two live buffers with different storage overlap,
/// every alias inside its root. Always run on the result of solve(); shares no code with it.
Status validate(const Problem &problem, const Plan &plan);

/// Human-readable table (peak, lower bound, ratio, what lives at the peak).
std::string report(const Problem &problem, const Plan &plan);
/// minimalloc's CSV: id,lower,upper,size[,offset].
std::string toCsv(const Problem &problem, const Plan *plan = nullptr);

} // namespace gaudi::plan
