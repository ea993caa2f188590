//===- NoAllocationTest.cpp - run() must not allocate ---------------------===//
//
// Its own binary, because it replaces malloc. Not built with sanitizers, which replace it too.
//
//===----------------------------------------------------------------------===//
#include "TestArtifact.h"

#include "gaudi/Runtime.h"

#include <gtest/gtest.h>

#include <atomic>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
}

static std::atomic<long> allocations{0};

extern "C" {
void *malloc(size_t size) { return ++allocations, __libc_malloc(size); } // operator new comes here too
void *calloc(size_t count, size_t size) { return ++allocations, __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return ++allocations, __libc_realloc(old, size); }
void *aligned_alloc(size_t align, size_t size) { return ++allocations, __libc_memalign(align, size); }
}

using namespace gaudi;
using namespace gaudi::test;

TEST(NoAllocation, RunAllocatesNothing) {
  TestArtifact artifact = makeTestArtifact();
  std::string path = temporaryPath("noalloc.gdx");
  ASSERT_TRUE(writeArtifact(path, artifact.parts()).ok());
  auto ctx = Executable::open(path, {}).take()->createContext({.threads = 2}).take();
  std::vector<float> x = testInput(), y(4 * 48);
  std::vector<int64_t> ids = {1, 2, 3, 0};
  TensorView inputs[] = {{x.data(), x.size() * 4}, {ids.data(), 32}}, outputs[] = {{y.data(), y.size() * 4}};
  long before = allocations;
  bool ok = true;
  for (int i = 0; i < 100; ++i)
    ok &= ctx->run(inputs, outputs).ok();
  long made = allocations - before;
  EXPECT_TRUE(ok);
  EXPECT_EQ(made, 0);
  {
    std::vector<int> proof(1);
  }
  auto *volatile escape = new int;
  delete escape;
  EXPECT_GT(allocations - before, 0) << "the counter does not count";
}
