//===- Profile.h - time per kernel ------------------------------*- C++ -*-===//
#pragma once

#include "gaudi/Runtime.h"
#include "runtime/cache/Json.h"

namespace gaudi::run {

/// One launch's share of a run, averaged over the profiled runs.
struct ProfileRow {
  size_t launch = 0; ///< index into the kernels
  std::string name, kernel;
  double ms = 0, percent = 0, gflops = 0, gbytes = 0; ///< the last two per second
};

/// Rows of `runs` runs, slowest first.
std::vector<ProfileRow> profileRows(const std::vector<KernelInfo> &kernels, const std::vector<KernelTime> &times,
                                    unsigned runs);

/// Table for people; at most `maxRows` rows and a last line for the rest.
std::string formatProfile(const std::vector<ProfileRow> &rows, size_t maxRows);
/// Field "profile" of an open object.
void writeProfile(json::Writer &writer, const std::vector<ProfileRow> &rows);

/// Chrome's trace event format, for chrome://tracing and Perfetto.
std::string chromeTrace(const std::vector<KernelInfo> &kernels, const std::vector<KernelTime> &times);

} // namespace gaudi::run
