//===- CompareTest.cpp - tensors within tolerance -------------------------===//
#include "tools/gaudi-run/Compare.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace gaudi;
using namespace gaudi::run;

static const TensorSpec spec = {"y", DType::F32, {2, 3}};

TEST(Compare, EqualWithin) {
  float got[] = {1, 2, 3, 4, 5, 6.0001f}, expected[] = {1, 2, 3, 4, 5, 6};
  Tolerance t = toleranceFor(DType::F32, {});
  Difference d = compare(spec, got, expected, t);
  EXPECT_TRUE(d.ok());
  EXPECT_EQ(describe(spec, d, t).substr(0, 51), "y: f32[2,3]: equal within atol 1e-05, rtol 0.001 (m");
}

TEST(Compare, WorstAreNamedWithIndices) {
  float got[] = {1, 2.5, 3, 4, 50, 6}, expected[] = {1, 2, 3, 4, 5, 6};
  Tolerance t = {.atol = 0, .rtol = 0.1};
  Difference d = compare(spec, got, expected, t);
  EXPECT_EQ(d.differing, 2u);
  EXPECT_EQ(describe(spec, d, t),
            "y: f32[2,3]: 2 of 6 elements differ (max abs 45, max rel 9, cosine 0.655722; atol 0, rtol 0.1)\n"
            "  [1,1] got 50, expected 5 (abs 45, 90x the tolerance)\n"
            "  [0,1] got 2.5, expected 2 (abs 0.5, 2.5x the tolerance)\n");
}

TEST(Compare, AtMostFiveWorst) {
  std::vector<float> got(100), expected(100, 1);
  for (size_t i = 0; i < 100; ++i)
    got[i] = 1 + static_cast<float>(i);
  Difference d = compare({"y", DType::F32, {100}}, got.data(), expected.data(), {.atol = 0, .rtol = 0});
  ASSERT_EQ(d.worst.size(), 5u);
  d = compare({"y", DType::F32, {100}}, got.data(), expected.data(), {.atol = 1, .rtol = 0});
  EXPECT_EQ(d.worst[0].index, 99u);
  EXPECT_EQ(d.worst[4].index, 95u);
}

TEST(Compare, NanAndInfinity) {
  const float inf = INFINITY;
  float a[] = {NAN, inf, -inf, 1, NAN, 0}, b[] = {NAN, inf, -inf, 1, 2, 0};
  EXPECT_EQ(compare(spec, a, b, {.atol = 1, .rtol = 1}).differing, 1u);
  EXPECT_EQ(compare(spec, a, b, {.atol = 1, .rtol = 1, .nanEqual = false}).differing, 2u);
  float c[] = {0, -inf, 5, 1, 2, 0}, e[] = {0, inf, inf, 1, 2, -0.0f};
  EXPECT_EQ(compare(spec, c, e, {.atol = 1, .rtol = 1}).differing, 2u);
}

TEST(Compare, IntegersAreExact) {
  int64_t a[] = {(1ll << 53) + 1, 5}, b[] = {1ll << 53, 5};
  TensorSpec ints = {"n", DType::I64, {2}};
  EXPECT_EQ(compare(ints, a, b, toleranceFor(DType::I64, {})).differing, 1u);
  uint8_t t[] = {1, 0}, u[] = {1, 1};
  EXPECT_EQ(compare({"b", DType::Bool, {2}}, t, u, toleranceFor(DType::Bool, {})).differing, 1u);
}

TEST(Compare, EmptyIsEqualAndOptionsOverrideTypes) {
  EXPECT_TRUE(compare({"e", DType::F32, {0, 4}}, nullptr, nullptr, {}).ok());
  Tolerance t = toleranceFor(DType::BF16, {.atol = 0.5, .rtol = {}});
  EXPECT_EQ(t.atol, 0.5);
  EXPECT_EQ(t.rtol, 2e-2);
}
