//===- Report.cpp - a memory plan for people and for minimalloc -----------===//
#include "lib/Plan/Plan.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cstdio>

namespace gaudi::plan {

/// "1.003" without the locale's decimal comma.
static std::string ratioText(double ratio) {
  auto thousandths = static_cast<uint64_t>(ratio * 1000 + 0.5);
  std::string fraction = cat(thousandths % 1000);
  return cat(thousandths / 1000, '.', std::string(3 - fraction.size(), '0'), fraction);
}

std::string report(const Problem &problem, const Plan &plan) {
  Bytes sum = 0;
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    sum += plan.storage[i] == i ? problem.buffers[i].size : 0;
  std::string out = cat("peak         ", plan.peak, " bytes (", formatBytes(plan.peak), ")\n", "lower bound  ",
                        plan.lowerBound, " bytes (", formatBytes(plan.lowerBound), "), ratio ", ratioText(plan.ratio()),
                        "\n", "buffers      ", problem.buffers.size(), ", ", formatBytes(sum), " without reuse\n",
                        "live at peak (step ", plan.peakStep, "):\n");
  constexpr size_t maxRows = 20;
  for (size_t i = 0; i < plan.liveAtPeak.size() && i < maxRows; ++i) {
    const Buffer &buffer = problem.buffers[plan.liveAtPeak[i]];
    std::string size = formatBytes(buffer.size);
    out += cat("  ", std::string(size.size() < 12 ? 12 - size.size() : 0, ' '), size, "  [", buffer.first, ", ",
               buffer.last, ")  ", buffer.name, "\n");
  }
  if (plan.liveAtPeak.size() > maxRows)
    out += cat("  and ", plan.liveAtPeak.size() - maxRows, " smaller ones\n");
  return out;
}

std::string toCsv(const Problem &problem, const Plan *plan) {
  std::string out = plan ? "id,lower,upper,size,offset\n" : "id,lower,upper,size\n";
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    out += cat(i, ',', buffer.first, ',', buffer.last, ',', buffer.size);
    out += plan ? cat(',', plan->offsets[i], '\n') : std::string("\n");
  }
  return out;
}

} // namespace gaudi::plan
