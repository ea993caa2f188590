//===- VerifiedTest.cpp - weights entries are read once, and damage is seen ===//
#include "TestSupport.h"

#include "runtime/base/FileIdentity.h"

#include <fcntl.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

using namespace gaudi;
using namespace gaudi::cache;

namespace {

struct WeightsEntry : testing::Test {
  TempDir dir;
  std::vector<std::string> messages;
  std::unique_ptr<Cache> cache;
  std::string path;

  void openStore(Options options = {}) { cache = openFor(dir.path, &messages, options); }
  void publish() {
    auto hit = cache->publish(Kind::Weights, keyOf(1), {}, writerOf(payloadOf(1, 5000)));
    ASSERT_TRUE(hit.ok() && hit->has_value());
    path = (*hit)->path;
  }
  bool found() { return cache->lookup(Kind::Weights, keyOf(1)).has_value(); }
};

void flip(const std::string &path, size_t at, int bit) {
  int fd = ::open(path.c_str(), O_RDWR);
  unsigned char byte = 0;
  ASSERT_EQ(::pread(fd, &byte, 1, static_cast<off_t>(at)), 1);
  byte ^= static_cast<unsigned char>(1 << bit);
  ASSERT_EQ(::pwrite(fd, &byte, 1, static_cast<off_t>(at)), 1);
  ::close(fd);
}

TEST_F(WeightsEntry, EveryFlipIsCaught) {
  openStore();
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    publish();
    ASSERT_TRUE(found()) << i; // read through, and remembered
    ASSERT_TRUE(found()) << i; // believed
    flip(path, random() % std::filesystem::file_size(path), static_cast<int>(random() % 8));
    ASSERT_FALSE(found()) << i;
  }
  EXPECT_EQ(messages.size(), 200u);
  EXPECT_EQ(cache->statistics().corrupt, 200);
}

TEST_F(WeightsEntry, AForgedTimeIsNotBelieved) {
  openStore();
  publish();
  ASSERT_TRUE(found());
  struct stat before;
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  flip(path, 100, 3);
  timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_FALSE(found());
}

TEST_F(WeightsEntry, WhoMakesItRemembersIt) {
  openStore();
  publish();
  size_t files = countFiles(dir.path);
  ASSERT_TRUE(found());
  EXPECT_EQ(countFiles(dir.path), files) << "the voucher was there";
}

TEST_F(WeightsEntry, NothingIsRememberedOfAFileJustWrittenElsewhere) {
  Options options;
  options.assumeNetworkFileSystem = true; // its clock may tick every 2 s
  openStore(options);
  publish();
  size_t files = countFiles(dir.path);
  ASSERT_TRUE(found());
  EXPECT_EQ(countFiles(dir.path), files);
  openStore();
  ASSERT_TRUE(found());
  EXPECT_EQ(countFiles(dir.path), files + 1);
}

TEST_F(WeightsEntry, ReadOnlyCachesBelieveButDoNotRemember) {
  openStore();
  publish();
  size_t files = countFiles(dir.path);
  Options options;
  options.mode = Mode::ReadOnly;
  cache = openFor(dir.path, &messages, options);
  EXPECT_TRUE(found());
  EXPECT_EQ(countFiles(dir.path), files);
  flip(path, 10, 0);
  EXPECT_FALSE(found());
}

TEST(FileIdentity, SeesEveryKindOfChange) {
  TempDir dir;
  std::string path = dir.top + "/f";
  std::ofstream(path) << "abc";
  auto identity = [&] {
    int fd = ::open(path.c_str(), O_RDONLY);
    FileIdentity found(fd);
    ::close(fd);
    return found;
  };
  FileIdentity first = identity();
  EXPECT_EQ(first.text(), identity().text());
  ::usleep(20'000); // two ticks of the slowest kernel
  EXPECT_TRUE(first.hasSettled());
  FileIdentity far = first;
  far.onNetwork = true;
  EXPECT_FALSE(far.hasSettled());
  EXPECT_FALSE(FileIdentity(-1).hasSettled());
  std::ofstream(path, std::ios::app) << "d";
  EXPECT_NE(first.text(), identity().text());
  FileIdentity second = identity();
  std::ofstream(path + "2") << "abcd";
  std::filesystem::rename(path + "2", path);
  EXPECT_NE(second.text(), identity().text());
}

} // namespace
