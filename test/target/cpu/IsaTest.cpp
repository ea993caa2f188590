//===- IsaTest.cpp - resolution of --target-cpu ---------------------------===//
#include "lib/Target/cpu/Isa.h"
#include "runtime/base/CpuFeatures.h"

#include <gtest/gtest.h>

using namespace gaudi;
using namespace gaudi::cpu;

static bool has(const Isa &isa, const char *feature) {
  return std::find(isa.features.begin(), isa.features.end(), feature) != isa.features.end();
}

TEST(Isa, Levels) {
  struct Row {
    const char *cpu, *level;
    unsigned vectorBytes;
  };
  for (Row row : {Row{"x86-64-v2", "sse4", 16},
                  {"x86-64-v3", "avx2", 32},
                  {"haswell", "avx2", 32},
                  {"znver3", "avx2", 32},
                  {"x86-64-v4", "avx512", 64},
                  {"znver4", "avx512", 64},
                  {"sapphirerapids", "avx512", 64},
                  {"nehalem", "sse4", 16}}) {
    Expected<Isa> isa = resolveIsa(row.cpu);
    ASSERT_TRUE(isa.ok()) << row.cpu;
    EXPECT_EQ(isa->name, row.level) << row.cpu;
    EXPECT_EQ(isa->vectorBytes, row.vectorBytes) << row.cpu;
    EXPECT_EQ(isa->cpu, row.cpu);
  }
}

TEST(Isa, FeaturesAreSortedInstructionSetsThatTheLoaderKnows) {
  Expected<Isa> isa = resolveIsa("sapphirerapids");
  ASSERT_TRUE(isa.ok());
  EXPECT_TRUE(std::is_sorted(isa->features.begin(), isa->features.end()));
  EXPECT_TRUE(has(*isa, "avx512f") && has(*isa, "f16c") && has(*isa, "fma"));
  EXPECT_FALSE(has(*isa, "avx512bf16")) << "flushes denormals: bf16 is integer code";
  EXPECT_FALSE(has(*isa, "fast-shld-rotate")) << "tuning flags are not checkable";
}

TEST(Isa, NativeRunsHere) {
  Expected<Isa> isa = resolveIsa("native");
  ASSERT_TRUE(isa.ok());
  EXPECT_NE(isa->cpu, "native");
  EXPECT_TRUE(missingFeatures(isa->features, hostCpuFeatures()).empty());
}

TEST(Isa, UnknownAndTooOld) {
  Expected<Isa> unknown = resolveIsa("x86-64-v9");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().code(), StatusCode::Usage);
  EXPECT_EQ(unknown.status().message(), "--target-cpu: unknown CPU 'x86-64-v9'");
  Expected<Isa> old = resolveIsa("core2");
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.status().code(), StatusCode::Unsupported);
}
