//===- FaultTest.cpp - broken folders, disks, clocks and environments -----===//
#include "TestSupport.h"

#include <fcntl.h>
#include <locale.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

using namespace gaudi;
using namespace gaudi::cache;

/// Runs `body` in a child, so that it may change ids, limits and mounts; true if it returned true.
template <typename Body> static bool inChild(Body body) {
  pid_t pid = ::fork();
  if (pid == 0)
    ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// The store works in `dir`: put, get.
static bool works(const std::string &dir) {
  auto cache = openFor(dir);
  return cache->mode() == Mode::ReadWrite && put(*cache, 1) && cache->lookup(Kind::Program, keyOf(1)).has_value();
}

TEST(Faults, DefaultDirectoryFollowsTheEnvironment) {
  EXPECT_TRUE(inChild([] {
    ::setenv("GAUDI_CACHE_DIR", "/a", 1), ::setenv("XDG_CACHE_HOME", "/b", 1), ::setenv("HOME", "/c", 1);
    bool ok = defaultDirectory() == "/a";
    ::setenv("GAUDI_CACHE_DIR", "relative", 1);
    ok &= defaultDirectory() == "/b/gaudi";
    ::unsetenv("XDG_CACHE_HOME");
    ok &= defaultDirectory() == "/c/.cache/gaudi";
    ::unsetenv("HOME");
    return ok && defaultDirectory().empty();
  }));
}

TEST(Faults, NoHomeDisablesWithAReason) {
  auto cache = openFor("");
  EXPECT_EQ(cache->mode(), Mode::Off);
  EXPECT_EQ(cache->reason(),
            "no cache folder: neither GAUDI_CACHE_DIR, XDG_CACHE_HOME nor HOME is set to an absolute path");
  EXPECT_FALSE(put(*cache, 1));
  EXPECT_FALSE(cache->lookup(Kind::Program, keyOf(1)));
  EXPECT_FALSE(cache->getBlob(keyOf(1)));
  cache->putBlob(keyOf(1), "x");
  EXPECT_TRUE(cache->list(true).empty());
}

TEST(Faults, PathsWithSpacesAndUtf8Work) {
  TempDir dir("/dir with spaces/ünïcode ✓");
  EXPECT_TRUE(works(dir.path));
}

TEST(Faults, WritableByOthersIsNotTrusted) {
  TempDir dir;
  ASSERT_TRUE(works(dir.path));
  ::chmod(dir.path.c_str(), 0777);
  auto cache = openFor(dir.path);
  EXPECT_EQ(cache->mode(), Mode::Off);
  EXPECT_EQ(cache->reason(), dir.path + " can be written by everyone; run: chmod go-w '" + dir.path + "'");
  EXPECT_FALSE(cache->lookup(Kind::Program, keyOf(1)));
  ::chmod(dir.path.c_str(), 0700);
  ::chmod((dir.path + "/v1").c_str(), 0770);
  EXPECT_NE(openFor(dir.path)->reason().find("/v1 can be written by its group"), std::string::npos);
}

TEST(Faults, AnotherUsersFolderIsNotTrusted) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root to make a folder of another user";
  TempDir dir;
  ASSERT_EQ(::chown(dir.path.c_str(), 12345, 12345), 0);
  EXPECT_EQ(openFor(dir.path)->reason(), dir.path + " belongs to user 12345, this process runs as 0");
}

TEST(Faults, ALinkInPlaceOfV1IsNotFollowed) {
  TempDir dir, elsewhere;
  std::filesystem::create_directory_symlink(elsewhere.path, dir.path + "/v1");
  EXPECT_EQ(openFor(dir.path)->mode(), Mode::Off);
  EXPECT_EQ(countFiles(elsewhere.path), 0u);
}

TEST(Faults, ReadOnlyFolderStillHits) {
  TempDir dir;
  ASSERT_TRUE(works(dir.path));
  EXPECT_TRUE(inChild([&] {
    if (::geteuid() == 0) { // root ignores modes: become somebody else, who owns it
      if (std::system(("chown -R 12345 '" + dir.path + "'").c_str()) != 0 || ::setresuid(12345, 12345, 12345) != 0)
        return false;
    }
    if (std::system(("chmod -R a-w '" + dir.path + "'").c_str()) != 0)
      return false;
    auto cache = openFor(dir.path);
    bool ok = cache->mode() == Mode::ReadOnly && cache->lookup(Kind::Program, keyOf(1)) && !put(*cache, 2);
    ok &= cache->reason().ends_with("v1 cannot be written: Permission denied");
    return std::system(("chmod -R u+w '" + dir.path + "'").c_str()) == 0 && ok;
  }));
}

TEST(Faults, AFileInPlaceOfTheFolderDisables) {
  TempDir dir;
  std::ofstream(dir.path + "/file") << "x";
  EXPECT_EQ(openFor(dir.path + "/file")->reason(), dir.path + "/file: Not a directory");
}

TEST(Faults, FullDiskWarnsOnceAndLeavesNoTemporary) {
  TempDir dir;
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root to mount a small file system";
  int code = 0;
  pid_t pid = ::fork();
  if (pid == 0) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", dir.path.c_str(), "tmpfs", 0, "size=256k,mode=0700") != 0)
      ::_exit(77);
    std::vector<std::string> messages;
    auto cache = openFor(dir.path, &messages);
    bool ok = cache->mode() == Mode::ReadWrite && put(*cache, 1);
    for (uint32_t i = 2; i < 6; ++i)
      ok &= !put(*cache, i, 1 << 20);
    for (uint32_t i = 10; i < 100; ++i)
      cache->putBlob(keyOf(i), payloadOf(i, 10'000));
    ok &= messages.size() == 1 && messages[0].find("continuing without storing") != std::string::npos;
    ok &= countFiles(dir.path + "/v1/t") == 0 && cache->lookup(Kind::Program, keyOf(1)).has_value();
    ::_exit(ok ? 0 : 1);
  }
  ::waitpid(pid, &code, 0);
  if (WEXITSTATUS(code) == 77)
    GTEST_SKIP() << "mounting is not allowed here";
  EXPECT_EQ(WEXITSTATUS(code), 0);
}

TEST(Faults, FileSizeLimitIsJustAnotherFailure) {
  TempDir dir;
  EXPECT_TRUE(inChild([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::vector<std::string> messages;
    auto cache = openFor(dir.path, &messages);
    cache->putBlob(keyOf(1), payloadOf(1, 10'000));
    return messages.size() == 1 && messages[0].find("File too large") != std::string::npos &&
           countFiles(dir.path + "/v1/t") == 0;
  }));
}

TEST(Faults, FolderDeletedUnderneath) {
  TempDir dir;
  std::vector<std::string> messages;
  auto cache = openFor(dir.path, &messages);
  ASSERT_TRUE(put(*cache, 1));
  std::filesystem::remove_all(dir.path);
  EXPECT_FALSE(cache->lookup(Kind::Program, keyOf(1)));
  EXPECT_FALSE(put(*cache, 2));
  EXPECT_FALSE(put(*cache, 3));
  EXPECT_EQ(messages.size(), 1u);
  EXPECT_FALSE(cache->lock(keyOf(1)).held());
}

TEST(Faults, UmaskDoesNotMatter) {
  for (mode_t mask : {0, 022, 077}) {
    TempDir dir;
    EXPECT_TRUE(inChild([&] {
      ::umask(mask);
      bool ok = works(dir.path + "/sub");
      struct stat info;
      return ok && ::stat((dir.path + "/sub/v1").c_str(), &info) == 0 && (info.st_mode & 077) == 0;
    })) << mask;
  }
}

TEST(Faults, LocaleWithCommaDecimals) {
  const char *names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
  bool any = false;
  for (const char *name : names)
    any |= ::setlocale(LC_ALL, name) != nullptr;
  TempDir dir;
  EXPECT_TRUE(works(dir.path));
  ::setlocale(LC_ALL, "C");
  if (!any)
    GTEST_SKIP() << "no such locale installed; nothing here calls a locale-dependent function";
}

TEST(Faults, NetworkFileSystemHasNoLocksButStillStores) {
  TempDir dir;
  auto cache = openFor(dir.path, nullptr, {.assumeNetworkFileSystem = true});
  EXPECT_FALSE(cache->hasLocks());
  EXPECT_FALSE(cache->lock(keyOf(1)).held());
  EXPECT_TRUE(put(*cache, 1));
  EXPECT_TRUE(cache->lookup(Kind::Program, keyOf(1)));
}

TEST(Faults, ClockGoingBackwards) {
  using namespace std::filesystem;
  TempDir dir;
  auto cache = openFor(dir.path, nullptr, {.maxBytes = 100'000});
  ASSERT_TRUE(put(*cache, 1));
  std::string path = cache->lookup(Kind::Program, keyOf(1))->path;
  // As if written before the clock was set back by ten years.
  last_write_time(path, file_time_type::clock::now() + std::chrono::hours(87'600));
  std::ofstream(dir.path + "/v1/t/abandoned") << "x";
  last_write_time(dir.path + "/v1/t/abandoned", file_time_type::clock::now() + std::chrono::hours(87'600));
  EXPECT_TRUE(cache->lookup(Kind::Program, keyOf(1)));
  EXPECT_LE(last_write_time(path), file_time_type::clock::now() + std::chrono::seconds(1)); // mended
  openFor(dir.path);
  EXPECT_FALSE(exists(dir.path + "/v1/t/abandoned"));
  for (uint32_t i = 2; i < 30; ++i)
    ASSERT_TRUE(put(*cache, i));
  EXPECT_LE(cache->statistics().storedBytes, 100'000);
}

TEST(Faults, FreshTemporariesAreLeftOldOnesSwept) {
  using namespace std::filesystem;
  TempDir dir;
  openFor(dir.path);
  for (const char *name : {"/v1/t/new", "/v1/t/old", "/v1/l/old.lock"})
    std::ofstream(dir.path + name) << "x";
  for (const char *name : {"/v1/t/old", "/v1/l/old.lock"})
    last_write_time(dir.path + name, file_time_type::clock::now() - std::chrono::hours(2));
  openFor(dir.path);
  EXPECT_TRUE(exists(dir.path + "/v1/t/new"));
  EXPECT_FALSE(exists(dir.path + "/v1/t/old"));
  EXPECT_FALSE(exists(dir.path + "/v1/l/old.lock"));
}
