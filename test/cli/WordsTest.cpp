//===- WordsTest.cpp - small values on the command line -------------------===//
#include "tools/gaudi-run/Words.h"

#include <gtest/gtest.h>

using namespace gaudi::run;

TEST(Words, NearestName) {
  std::vector<std::string> names = {"input_ids", "attention_mask", "token_type_ids"};
  EXPECT_EQ(nearestName("input_idz", names), "input_ids");
  EXPECT_EQ(nearestName("atention_mask", names), "attention_mask");
  EXPECT_EQ(nearestName("pixels", names), "");
  EXPECT_EQ(didYouMean("inputids", names), "; did you mean 'input_ids'?");
}

TEST(Words, Sizes) {
  uint64_t bytes;
  EXPECT_TRUE(parseSize("4096", bytes) && bytes == 4096);
  EXPECT_TRUE(parseSize("512KiB", bytes) && bytes == 512 << 10);
  EXPECT_TRUE(parseSize("1.5GiB", bytes) && bytes == 3ull << 29);
  EXPECT_TRUE(parseSize("2M", bytes) && bytes == 2 << 20);
  for (const char *bad : {"", "MiB", "5GB", "-1", "1e3", "99999999999TiB", "1,5GiB"})
    EXPECT_FALSE(parseSize(bad, bytes)) << bad;
}

TEST(Words, Durations) {
  double s;
  EXPECT_TRUE(parseDuration("250ms", s) && s == 0.25);
  EXPECT_TRUE(parseDuration("3s", s) && s == 3);
  EXPECT_TRUE(parseDuration("2m", s) && s == 120);
  EXPECT_TRUE(parseDuration("5", s) && s == 5);
  for (const char *bad : {"", "s", "-1s", "3 s", "1h"})
    EXPECT_FALSE(parseDuration(bad, s)) << bad;
  EXPECT_EQ(duration(0.0021), "2.1 us");
  EXPECT_EQ(duration(0.812), "812 us");
  EXPECT_EQ(duration(3.14), "3.1 ms");
  EXPECT_EQ(duration(41200), "41.2 s");
}
