//===- Compare.h - are two tensors equal within a tolerance? ----*- C++ -*-===//
#pragma once

#include "gaudi/Tensor.h"
#include "tools/gaudi-run/Options.h"

namespace gaudi::run {

struct Tolerance {
  double atol = 0, rtol = 0;
  bool nanEqual = true;
};

/// What the user gave, else by type: f64 1e-9 + 1e-7, f32 1e-5 + 1e-3, f16 1e-3 + 1e-2, bf16 1e-2 + 2e-2, integers 0.
/// (f32: ONNX's backend tests use rtol 1e-3; an atol keeps values that cancel to nearly zero from failing.)
Tolerance toleranceFor(DType dtype, const ToleranceOptions &options);

struct Difference {
  uint64_t count = 0;     ///< elements
  uint64_t differing = 0; ///< with |got - expected| > atol + rtol * |expected|, or unequal NaN or infinity
  double maxAbs = 0, maxRel = 0;
  double cosine = 1; ///< of the finite elements
  struct Element {
    uint64_t index;
    double got, expected;
    double excess; ///< error / tolerance
  };
  std::vector<Element> worst; ///< at most 5 of the differing, worst first

  bool ok() const { return differing == 0; }
};

/// Compares tensors of equal type and shape.
Difference compare(const TensorSpec &spec, const void *got, const void *expected, const Tolerance &tolerance);

/// "y: f32[4,48]: 3 of 192 elements differ (max abs ..., max rel ..., tolerance ...)" and one line per worst element
/// with its indices. "y: f32[4,48]: equal within ..." if ok.
std::string describe(const TensorSpec &spec, const Difference &difference, const Tolerance &tolerance);

} // namespace gaudi::run
