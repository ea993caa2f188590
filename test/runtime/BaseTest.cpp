//===- BaseTest.cpp - helpers every part relies on ------------------------===//
#include "TestArtifact.h"

#include "runtime/base/CpuCount.h"
#include "runtime/base/CpuFeatures.h"
#include "runtime/base/Hash.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/Pending.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sys/stat.h>

using namespace gaudi;
using namespace gaudi::test;

namespace {

TEST(Base, DTypeNamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
    auto dtype = static_cast<DType>(i), back = DType::F32;
    ASSERT_TRUE(parseDType(nameOf(dtype), back));
    EXPECT_EQ(back, dtype);
  }
  DType dtype;
  EXPECT_TRUE(parseDType("bfloat16", dtype));
  EXPECT_EQ(dtype, DType::BF16);
  EXPECT_FALSE(parseDType("complex64", dtype));
  EXPECT_EQ(nameOf(static_cast<DType>(99)), "invalid");
  EXPECT_EQ(toString(TensorSpec{"s", DType::I64, {}}), "i64[]");
}

TEST(Base, SafeMath) {
  EXPECT_TRUE(insideRange(0, 8, 8));
  EXPECT_TRUE(insideRange(8, 0, 8));
  EXPECT_FALSE(insideRange(~0ull, 2, 8));
  EXPECT_FALSE(insideRange(4, ~0ull, 8));
  uint64_t count;
  const int64_t fine[] = {3, 4}, huge[] = {int64_t(1) << 40, int64_t(1) << 40}, negative[] = {-5},
                empty[] = {0, int64_t(1) << 62, int64_t(1) << 62};
  EXPECT_TRUE(checkedElementCount(fine, count));
  EXPECT_EQ(count, 12u);
  EXPECT_FALSE(checkedElementCount(huge, count));
  EXPECT_FALSE(checkedElementCount(negative, count));
  EXPECT_FALSE(checkedElementCount(empty, count));
  EXPECT_TRUE(checkedElementCount({}, count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(alignUp(65, 64), 128u);
  EXPECT_EQ(ceilDiv(7, 2), 4u);
}

TEST(Base, Hash) {
  // XXH3_128bits("") of the reference implementation.
  EXPECT_EQ(toHex(xxh3({})), "99aa06d3014798d86001c324468d497f");
  std::vector<std::byte> data(100000, std::byte{7});
  Xxh3Stream stream;
  stream.update(std::span(data).first(12345));
  stream.update(std::span(data).subspan(12345));
  EXPECT_EQ(stream.digest(), xxh3(data));
  Digest128 back;
  ASSERT_TRUE(parseHex(toHex(xxh3(data)), back));
  EXPECT_EQ(back, xxh3(data));
  EXPECT_FALSE(parseHex("12", back));
  EXPECT_FALSE(parseHex(std::string(32, 'G'), back));
}

TEST(Base, Text) {
  EXPECT_EQ(cat("a", 1, 'b', -2, std::string("c")), "a1b-2c");
  EXPECT_EQ(join(std::vector<int>{1, 2, 3}, ","), "1,2,3");
  EXPECT_EQ(formatBytes(512), "512 bytes");
  EXPECT_EQ(formatBytes(1536), "1.5 KiB");
  EXPECT_EQ(formatBytes(uint64_t(418) << 20), "418.0 MiB");
}

TEST(Base, CpuFeatures) {
  std::vector<std::string> features = hostCpuFeatures();
  EXPECT_TRUE(std::is_sorted(features.begin(), features.end()));
  EXPECT_TRUE(std::binary_search(features.begin(), features.end(), "sse2"));
  for (const char *name : {"avx2", "fma", "avx512f"}) {
    bool expected = std::string_view(name) == "avx2"  ? __builtin_cpu_supports("avx2")
                    : std::string_view(name) == "fma" ? __builtin_cpu_supports("fma")
                                                      : __builtin_cpu_supports("avx512f");
    EXPECT_EQ(std::binary_search(features.begin(), features.end(), name), expected) << name;
  }
  const std::string needed[] = {"sse2", "warp-drive"};
  EXPECT_EQ(missingFeatures(needed, features), std::vector<std::string>{"warp-drive"});
  EXPECT_GE(usableCores(), 1u);
}

TEST(MappedFileTest, RegularFilesOnly) {
  std::string folder = temporaryPath("mapped");
  std::filesystem::create_directory(folder);
  std::string fifo = folder + "/fifo", empty = folder + "/empty", file = folder + "/file";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  writeFile(empty, {});
  writeFile(file, std::as_bytes(std::span("hello", 5)));
  EXPECT_EQ(MappedFile::open(fifo).status().message(), fifo + ": not a regular file"); // and does not hang
  EXPECT_EQ(MappedFile::open(folder).status().message(), folder + ": not a regular file");
  EXPECT_EQ(MappedFile::open(folder + "/none").status().message(), folder + "/none: no such file");
  EXPECT_EQ(MappedFile::open(folder + "/none").status().code(), StatusCode::Usage);
  ASSERT_TRUE(MappedFile::open(empty).ok());
  EXPECT_EQ(MappedFile::open(empty)->bytes().size(), 0u);
  EXPECT_EQ(MappedFile::open(file)->bytes().size(), 5u);
  MappedFile moved = MappedFile::open(file).take();
  EXPECT_EQ(moved.path(), file);
}

TEST(MappedFileTest, BeneathRefusesEveryWayOut) {
  std::string folder = temporaryPath("beneath");
  std::filesystem::create_directories(folder + "/model/sub");
  writeFile(folder + "/secret", std::as_bytes(std::span("x", 1)));
  writeFile(folder + "/model/w.bin", std::as_bytes(std::span("w", 1)));
  std::filesystem::create_symlink("../secret", folder + "/model/link");
  std::filesystem::create_symlink("..", folder + "/model/up");
  OpenRules rules{folder + "/model", StatusCode::InvalidInput};
  EXPECT_TRUE(MappedFile::open("w.bin", rules).ok());
  EXPECT_TRUE(MappedFile::open("sub/../w.bin", rules).ok());
  for (const char *bad : {"../secret", "sub/../../secret", "/etc/passwd", "link", "up/secret", "missing"}) {
    Expected<MappedFile> file = MappedFile::open(bad, rules);
    ASSERT_FALSE(file.ok()) << bad;
    EXPECT_EQ(file.status().code(), StatusCode::InvalidInput);
  }
  EXPECT_NE(MappedFile::open("../secret", rules).status().message().find("leaves the folder"), std::string::npos);
  EXPECT_NE(MappedFile::open("link", rules).status().message().find("is a link"), std::string::npos);
}

TEST(Pending, RemovesWhatHasNoFinalNameYet) {
  std::string folder = test::temporaryPath("pending");
  std::filesystem::create_directory(folder);
  auto file = [&](int i) {
    std::string path = folder + "/" + std::to_string(i);
    test::writeFile(path, {});
    return path;
  };
  {
    Pending kept(file(0)), gone(file(1)), empty(folder);
    kept.forget();
    removePending();
    EXPECT_TRUE(std::filesystem::exists(folder + "/0"));
    EXPECT_FALSE(std::filesystem::exists(folder + "/1"));
    std::filesystem::remove(folder + "/0");
    removePending();
    EXPECT_FALSE(std::filesystem::exists(folder)) << "empty by now";
  }
  std::filesystem::create_directory(folder);
  {
    std::vector<Pending> many;
    for (int i = 0; i < 20; ++i)
      many.emplace_back(file(i)); // more than are kept track of: harmless
  }
  removePending();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 20) << "those that ended are forgotten";
}

} // namespace
