//===- PlanTest.cpp - hand-made cases of the memory planner ---------------===//
#include "lib/Plan/Plan.h"

#include <gtest/gtest.h>

using namespace gaudi;
using namespace gaudi::plan;

namespace {

Buffer make(std::string name, Bytes size, Step first, Step last) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.size = size;
  buffer.align = 1;
  buffer.first = first;
  buffer.last = last;
  return buffer;
}

Plan solved(const Problem &problem) {
  Expected<Plan> plan = solve(problem);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? plan.take() : Plan();
}

TEST(Plan, EmptyProblemNeedsNothing) { EXPECT_EQ(solved({}).peak, 0u); }

TEST(Plan, DeadBuffersAreReused) {
  Problem problem{{make("a", 100, 0, 2), make("b", 100, 2, 4)}};
  EXPECT_EQ(solved(problem).peak, 100u);
}

TEST(Plan, LiveBuffersAreApartAndReported) {
  Problem problem{{make("a", 100, 0, 2), make("b", 50, 1, 4)}};
  Plan plan = solved(problem);
  EXPECT_EQ(plan.peak, 150u);
  EXPECT_EQ(plan.lowerBound, 150u);
  EXPECT_EQ(plan.peakStep, 1u);
  EXPECT_EQ(plan.liveAtPeak, (std::vector<BufferId>{0, 1}));
}

TEST(Plan, ZeroSizeTakesNoRoom) {
  Problem problem{{make("a", 0, 0, 9), make("b", 64, 0, 9), make("never", 64, 3, 3)}};
  EXPECT_EQ(solved(problem).peak, 64u);
}

TEST(Plan, SizesAreRoundedToTheAlignment) {
  Problem problem{{make("a", 10, 0, 2), make("b", 10, 0, 2)}};
  problem.buffers[0].align = problem.buffers[1].align = 64;
  Plan plan = solved(problem);
  EXPECT_EQ(plan.peak, 128u);
  EXPECT_EQ(plan.ratio(), 1.0);
}

TEST(Plan, ViewKeepsItsRootAlive) {
  Problem problem{{make("a", 128, 0, 1), make("view", 64, 1, 5), make("b", 64, 2, 3)}};
  problem.buffers[1].aliasOf = 0;
  problem.buffers[1].aliasOffset = 64;
  Plan plan = solved(problem);
  EXPECT_EQ(plan.offsets[1], plan.offsets[0] + 64);
  EXPECT_EQ(plan.storage[1], 0u);
  EXPECT_EQ(plan.peak, 192u);
}

TEST(Plan, ViewOfViewAddsOffsets) {
  Problem problem{{make("a", 128, 0, 4), make("v", 64, 0, 4), make("w", 16, 0, 4)}};
  problem.buffers[1].aliasOf = 0;
  problem.buffers[1].aliasOffset = 32;
  problem.buffers[2].aliasOf = 1;
  problem.buffers[2].aliasOffset = 48;
  Plan plan = solved(problem);
  EXPECT_EQ(plan.offsets[2], plan.offsets[0] + 80);
  EXPECT_EQ(plan.peak, 128u);
}

TEST(Plan, InPlaceChainUsesOneStorage) {
  Problem problem{{make("a", 100, 0, 2), make("b", 100, 1, 3), make("c", 100, 2, 4)}};
  problem.buffers[1].inPlace = {0};
  problem.buffers[2].inPlace = {1};
  Plan plan = solved(problem);
  EXPECT_EQ(plan.peak, 100u);
  EXPECT_EQ(plan.storage[2], 0u);
}

TEST(Plan, InPlaceIsRefusedWhileAViewLivesOn) {
  Problem problem{{make("a", 100, 0, 2), make("view", 10, 0, 3), make("b", 100, 1, 3)}};
  problem.buffers[1].aliasOf = 0;
  problem.buffers[2].inPlace = {0};
  Plan plan = solved(problem);
  EXPECT_EQ(plan.storage[2], 2u);
  EXPECT_EQ(plan.peak, 200u);
}

TEST(Plan, InPlaceIsRefusedWhenAnotherViewIsReadAtThatStep) {
  Problem problem{{make("a", 100, 0, 2), make("half", 50, 0, 2), make("b", 100, 1, 3)}};
  problem.buffers[1].aliasOf = 0;
  problem.buffers[1].aliasOffset = 50;
  problem.buffers[2].inPlace = {0};
  EXPECT_EQ(solved(problem).storage[2], 2u);
}

TEST(Plan, ReshapeOfTheSameBytesDoesNotHinderInPlace) {
  Problem problem{{make("a", 100, 0, 2), make("reshape", 100, 0, 2), make("b", 100, 1, 3)}};
  problem.buffers[1].aliasOf = 0;
  problem.buffers[2].inPlace = {1};
  EXPECT_EQ(solved(problem).peak, 100u);
}

TEST(Plan, OnlyOneOfTwoResultsTakesTheInput) {
  Problem problem{{make("a", 100, 0, 2), make("b", 100, 1, 3), make("c", 100, 1, 3)}};
  problem.buffers[1].inPlace = problem.buffers[2].inPlace = {0};
  Plan plan = solved(problem);
  EXPECT_EQ(plan.peak, 200u);
  EXPECT_NE(plan.storage[1], plan.storage[2]);
}

TEST(Plan, LargerResultIsNotInPlace) {
  Problem problem{{make("a", 100, 0, 2), make("b", 101, 1, 3)}};
  problem.buffers[1].inPlace = {0};
  EXPECT_EQ(solved(problem).peak, 201u);
}

TEST(Plan, SmallResultDoesNotHoldALargeBlock) {
  // In place, 'scalar' would keep 1000 bytes alive beside 'b'.
  Problem problem{{make("a", 1000, 0, 2), make("scalar", 1, 1, 9), make("b", 1000, 2, 9)}};
  problem.buffers[1].inPlace = {0};
  EXPECT_EQ(solved(problem).peak, 1001u);
}

TEST(Plan, SearchFindsWhatFirstFitMisses) {
  // minimalloc's example input (README): lower bound 12 is reachable.
  Problem problem{
      {make("b1", 4, 0, 3), make("b2", 4, 3, 9), make("b3", 4, 0, 9), make("b4", 4, 9, 21), make("b5", 4, 0, 21)}};
  EXPECT_EQ(solved(problem).peak, 12u);
}

TEST(Plan, BudgetErrorNamesTheMinimum) {
  Problem problem{{make("logits", 100, 0, 2), make("b", 50, 1, 4)}};
  Expected<Plan> plan = solve(problem, {.budget = 120});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), StatusCode::ResourceLimit);
  EXPECT_EQ(plan.status().message(), "memory plan: needs 150 bytes (budget 120)");
  EXPECT_NE(plan.status().hint().find("minimum budget for this plan is 150"), std::string::npos);
  EXPECT_NE(plan.status().hint().find("'logits'"), std::string::npos);
  EXPECT_TRUE(solve(problem, {.budget = 150}).ok());
}

struct Malformed {
  const char *what;
  void (*damage)(Problem &);
};

TEST(Plan, MalformedProblemsAreRefused) {
  const Malformed cases[] = {
      {"ends before", [](Problem &p) { p.buffers[0].first = 5; }},
      {"power of two", [](Problem &p) { p.buffers[0].align = 48; }},
      {"power of two", [](Problem &p) { p.buffers[0].align = 0; }},
      {"above 2^60", [](Problem &p) { p.buffers[0].size = ~0ull; }},
      {"unknown buffer", [](Problem &p) { p.buffers[0].aliasOf = 7; }},
      {"cycle", [](Problem &p) { p.buffers[0].aliasOf = 1, p.buffers[1].aliasOf = 0; }},
      {"alias of bytes", [](Problem &p) { p.buffers[0].aliasOf = 1, p.buffers[0].aliasOffset = 1; }},
      {"in-place candidate", [](Problem &p) { p.buffers[0].inPlace = {0}; }},
      {"in-place candidate", [](Problem &p) { p.buffers[0].inPlace = {9}; }},
  };
  for (const Malformed &test : cases) {
    Problem problem{{make("a", 8, 0, 2), make("b", 8, 0, 2)}};
    test.damage(problem);
    Expected<Plan> plan = solve(problem);
    ASSERT_FALSE(plan.ok()) << test.what;
    EXPECT_EQ(plan.status().code(), StatusCode::InvalidInput);
    EXPECT_NE(plan.status().message().find(test.what), std::string::npos) << plan.status().message();
  }
}

TEST(Plan, ReportAndCsv) {
  Problem problem{{make("a", 2048, 0, 2), make("b", 1024, 1, 4)}};
  Plan plan = solved(problem);
  std::string text = report(problem, plan);
  EXPECT_NE(text.find("peak         3072 bytes (3.0 KiB)"), std::string::npos) << text;
  EXPECT_NE(text.find("ratio 1.000"), std::string::npos) << text;
  EXPECT_NE(text.find("2.0 KiB  [0, 2)  a"), std::string::npos) << text;
  EXPECT_EQ(toCsv(problem), "id,lower,upper,size\n0,0,2,2048\n1,1,4,1024\n");
  EXPECT_EQ(toCsv(problem, &plan), "id,lower,upper,size,offset\n0,0,2,2048,0\n1,1,4,1024,2048\n");
}

TEST(Plan, ValidatorSeesOverlap) {
  Problem problem{{make("a", 100, 0, 2), make("b", 50, 1, 4)}};
  Plan plan = solved(problem);
  plan.offsets = {0, 99};
  Status status = validate(problem, plan);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("overlaps"), std::string::npos);
  plan.offsets = {0, 101};
  EXPECT_NE(validate(problem, plan).message().find("outside the slab"), std::string::npos);
}

TEST(Plan, ValidatorSeesUndeclaredSharing) {
  Problem problem{{make("a", 100, 0, 3), make("b", 100, 1, 4)}};
  problem.buffers[1].inPlace = {0}; // but 'a' lives on
  Plan plan = solved(problem);
  plan.offsets = {0, 0};
  plan.storage = {0, 0};
  EXPECT_FALSE(validate(problem, plan).ok());
}

} // namespace
