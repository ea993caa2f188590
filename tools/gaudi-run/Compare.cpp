//===- Compare.cpp - are two tensors equal within a tolerance? ------------===//
#include "tools/gaudi-run/Compare.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/Elements.h"
#include "tools/gaudi-run/Words.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaudi::run {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tolerance toleranceFor(DType dtype, const ToleranceOptions &options) {
  Tolerance t;
  switch (dtype) {
  case DType::F64:
    t = {1e-9, 1e-7};
    break;
  case DType::F32:
    t = {1e-5, 1e-3};
    break;
  case DType::F16:
    t = {1e-3, 1e-2};
    break;
  case DType::BF16:
    t = {1e-2, 2e-2};
    break;
  default:
    break;
  }
  t.atol = options.atol.value_or(t.atol);
  t.rtol = options.rtol.value_or(t.rtol);
  t.nanEqual = options.nanEqual;
  return t;
}

/// Error over tolerance; more than 1 = differs.
static double excessOf(double got, double expected, const Tolerance &t) {
  if (std::isnan(got) || std::isnan(expected))
    return std::isnan(got) && std::isnan(expected) && t.nanEqual ? 0 : kInfinity;
  if (got == expected) // infinities too
    return 0;
  if (std::isinf(got) || std::isinf(expected))
    return kInfinity;
  double error = std::fabs(got - expected), allowed = t.atol + t.rtol * std::fabs(expected);
  return allowed > 0 ? error / allowed : kInfinity;
}

/// Keeps the 5 worst; of equals the first.
static void keepWorst(std::vector<Difference::Element> &worst, const Difference::Element &element) {
  auto at = std::upper_bound(worst.begin(), worst.end(), element,
                             [](const auto &a, const auto &b) { return a.excess > b.excess; });
  if (at == worst.end() && worst.size() == 5)
    return;
  worst.insert(at, element);
  if (worst.size() > 5)
    worst.pop_back();
}

/// 64-bit integers do not fit a double: what matters is whether they are equal, and their difference.
static void loadPair(DType dtype, const void *got, const void *expected, uint64_t i, double &a, double &b) {
  a = loadElement(dtype, got, i);
  b = loadElement(dtype, expected, i);
  if (!isFloat(dtype) && a == b && loadInteger(dtype, got, i) != loadInteger(dtype, expected, i))
    a = std::nextafter(b, kInfinity);
}

Difference compare(const TensorSpec &spec, const void *got, const void *expected, const Tolerance &tolerance) {
  Difference out;
  out.count = static_cast<uint64_t>(spec.elementCount());
  double dot = 0, normGot = 0, normExpected = 0;
  for (uint64_t i = 0; i < out.count; ++i) {
    double a, b;
    loadPair(spec.dtype, got, expected, i, a, b);
    double excess = excessOf(a, b, tolerance);
    if (excess > 1) {
      ++out.differing;
      keepWorst(out.worst, {i, a, b, excess});
    }
    if (!std::isfinite(a) || !std::isfinite(b))
      continue;
    double error = std::fabs(a - b);
    out.maxAbs = std::max(out.maxAbs, error);
    if (b != 0)
      out.maxRel = std::max(out.maxRel, error / std::fabs(b));
    dot += a * b, normGot += a * a, normExpected += b * b;
  }
  if (normGot > 0 && normExpected > 0)
    out.cosine = dot / std::sqrt(normGot * normExpected);
  return out;
}

/// "[1,3]" of a flat index.
static std::string indices(const TensorSpec &spec, uint64_t flat) {
  std::vector<uint64_t> index(spec.shape.size());
  for (size_t d = index.size(); d-- > 0; flat /= static_cast<uint64_t>(spec.shape[d]))
    index[d] = flat % static_cast<uint64_t>(spec.shape[d]);
  return cat('[', join(index, ","), ']');
}

std::string describe(const TensorSpec &spec, const Difference &d, const Tolerance &t) {
  std::string within = cat("atol ", brief(t.atol), ", rtol ", brief(t.rtol));
  std::string errors = cat("max abs ", brief(d.maxAbs), ", max rel ", brief(d.maxRel), ", cosine ", brief(d.cosine));
  if (d.ok())
    return cat(spec.name, ": ", toString(spec), ": equal within ", within, " (", errors, ")\n");
  std::string out = cat(spec.name, ": ", toString(spec), ": ", d.differing, " of ", d.count, " elements differ (",
                        errors, "; ", within, ")\n");
  for (const Difference::Element &e : d.worst)
    out += cat("  ", indices(spec, e.index), " got ", brief(e.got), ", expected ", brief(e.expected), " (abs ",
               brief(std::fabs(e.got - e.expected)), ", ", brief(e.excess), "x the tolerance)\n");
  return out;
}

} // namespace gaudi::run
