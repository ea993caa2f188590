//===- StatsTest.cpp - statistics of latencies ----------------------------===//
#include "tools/gaudi-run/Stats.h"

#include <gtest/gtest.h>

using namespace gaudi;
using namespace gaudi::run;

TEST(Stats, PercentilesInterpolateLikeNumpy) {
  Summary s = summarize({4, 1, 3, 2}, {0, 50, 90, 100});
  EXPECT_DOUBLE_EQ(s.percentiles[0].second, 1);
  EXPECT_DOUBLE_EQ(s.percentiles[1].second, 2.5);
  EXPECT_DOUBLE_EQ(s.percentiles[2].second, 3.7); // np.percentile([1,2,3,4], 90)
  EXPECT_DOUBLE_EQ(s.percentiles[3].second, 4);
  EXPECT_DOUBLE_EQ(s.mean, 2.5);
  EXPECT_NEAR(s.cov, 1.2909944487 / 2.5, 1e-9); // np.std(ddof=1) / mean
  EXPECT_EQ(summarize({}, {50}).count, 0u);
  EXPECT_DOUBLE_EQ(summarize({7}, {99}).percentiles[0].second, 7);
}

TEST(Stats, PercentileList) {
  EXPECT_EQ(*parsePercentiles("50,99.9"), (std::vector<double>{50, 99.9}));
  EXPECT_EQ(parsePercentiles("50,101").status().message(),
            "--percentiles: not a percentage (found '101', expected 0 to 100)");
  EXPECT_FALSE(parsePercentiles("").ok());
}

TEST(Stats, WarmupEndsWhenTimesSettle) {
  WarmupDetector settles;
  int runs = 0;
  for (double ms : {50., 20., 12., 10., 10., 10., 10., 10., 10., 10.}) {
    ++runs;
    if (settles.add(ms))
      break;
  }
  EXPECT_GE(runs, 6);
  EXPECT_LE(runs, 9);
  WarmupDetector never, slow;
  runs = 1;
  for (double ms = 1; !never.add(ms) && runs < 1000; ms *= 1.1)
    ++runs;
  EXPECT_LE(runs, 100);
  EXPECT_TRUE(slow.add(3000));
}
