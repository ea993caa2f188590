//===- ProfileTest.cpp - time per kernel ----------------------------------===//
#include "tools/gaudi-run/Profile.h"

#include <gtest/gtest.h>

using namespace gaudi;
using namespace gaudi::run;

static const std::vector<KernelInfo> kernels = {{"embed", "gather", 0, 100}, {"dense", "matmul", 6000, 300}};
// Two runs.
static const std::vector<KernelTime> times = {{0, 1000, 2000}, {1, 2000, 5000}, {0, 6000, 7000}, {1, 7000, 10000}};

TEST(Profile, RowsAreAveragedAndSorted) {
  std::vector<ProfileRow> rows = profileRows(kernels, times, 2);
  EXPECT_EQ(rows[0].name, "dense");
  EXPECT_DOUBLE_EQ(rows[0].ms, 0.003);
  EXPECT_DOUBLE_EQ(rows[0].percent, 75);
  EXPECT_DOUBLE_EQ(rows[0].gflops, 2);
  EXPECT_DOUBLE_EQ(rows[1].gbytes, 0.1);
  EXPECT_EQ(formatProfile(rows, 1), "       us      %   GFLOP/s    GB/s  node (kernel)\n"
                                    "      3.0   75.0       2.0     0.1  dense (matmul)\n"
                                    "      1.0   25.0                    1 more; -v shows all\n");
}

TEST(Profile, Trace) {
  std::string trace = chromeTrace(kernels, times);
  EXPECT_NE(trace.find(R"({"name":"dense","ph":"X","pid":0,"tid":0,"ts":1,"dur":3,"args":{"kernel":"matmul")"),
            std::string::npos)
      << trace;
  EXPECT_EQ(chromeTrace(kernels, {}), R"({"displayTimeUnit":"ms","traceEvents":[]})");
}
