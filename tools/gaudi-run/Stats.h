//===- Stats.h - statistics of latencies ------------------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace gaudi::run {

struct Summary {
  size_t count = 0;
  double min = 0, max = 0, mean = 0;
  double cov = 0;                                     ///< standard deviation / mean
  std::vector<std::pair<double, double>> percentiles; ///< {50, value}
};

/// Value below which `percent` of the sorted samples lie, interpolated between neighbours (numpy's default method).
double percentile(const std::vector<double> &sorted, double percent);
Summary summarize(std::vector<double> samples, const std::vector<double> &percents);

/// "50,90,99.9". Errors: Usage.
Expected<std::vector<double>> parsePercentiles(std::string_view text);

/// Decides when automatic warm-up is over: the mean of the last 3 runs is within 5 % of the mean of the 3 before, or
/// 100 runs or 2 s have passed.
class WarmupDetector {
public:
  /// Tells it one run's time; true when warm.
  bool add(double ms);

private:
  std::vector<double> samples;
  double total = 0;
};

} // namespace gaudi::run
