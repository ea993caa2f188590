//===- Stats.cpp - statistics of latencies --------------------------------===//
#include "tools/gaudi-run/Stats.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/Words.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gaudi::run {

double percentile(const std::vector<double> &sorted, double percent) {
  if (sorted.empty())
    return 0;
  double at = percent / 100 * static_cast<double>(sorted.size() - 1);
  auto low = static_cast<size_t>(at);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

Summary summarize(std::vector<double> samples, const std::vector<double> &percents) {
  Summary s;
  s.count = samples.size();
  if (samples.empty())
    return s;
  std::sort(samples.begin(), samples.end());
  auto n = static_cast<double>(samples.size());
  s.min = samples.front();
  s.max = samples.back();
  s.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  double squares = 0;
  for (double v : samples)
    squares += (v - s.mean) * (v - s.mean);
  if (samples.size() > 1 && s.mean > 0)
    s.cov = std::sqrt(squares / (n - 1)) / s.mean;
  for (double percent : percents)
    s.percentiles.emplace_back(percent, percentile(samples, percent));
  return s;
}

Expected<std::vector<double>> parsePercentiles(std::string_view text) {
  std::vector<double> out;
  for (std::string_view part : split(text, ',')) {
    double value;
    if (!parseNumber(part, value) || !(value >= 0 && value <= 100))
      return Status::error(StatusCode::Usage,
                           cat("--percentiles: not a percentage (found '", part, "', expected 0 to 100)"),
                           "for example --percentiles=50,90,99");
    out.push_back(value);
  }
  return out;
}

bool WarmupDetector::add(double ms) {
  samples.push_back(ms);
  total += ms;
  size_t n = samples.size();
  if (n >= 100 || total >= 2000)
    return true;
  if (n < 6)
    return false;
  auto mean = [&](size_t from) { return (samples[from] + samples[from + 1] + samples[from + 2]) / 3; };
  double before = mean(n - 6), last = mean(n - 3);
  return std::fabs(last - before) <= 0.05 * before;
}

} // namespace gaudi::run
