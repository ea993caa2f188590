//===- Stress.cpp - processes against one cache folder --------------------===//
//
// Three trials: 8 processes resolve 1 key, exactly one compiles; a publisher is killed at random moments, readers never
// see a bad entry and its lock is free at once; processes publish over a small cap, which holds.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Clock.h"
#include "runtime/cache/Cache.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gaudi;
using namespace gaudi::cache;

static int failures = 0;
static void expect(bool ok, const char *what) {
  std::printf("%s: %s\n", ok ? "ok" : "FAILED", what);
  failures += !ok;
}

static Key keyOf(uint32_t n) {
  Key key;
  for (size_t i = 0; i < 32; ++i)
    key.bytes[i] = static_cast<uint8_t>(n + i);
  return key;
}

/// Content derived from the key, so that a reader can tell a foreign or half payload.
static Writer writerOf(uint32_t n, size_t size) {
  return [n, size](const std::string &path) -> Status {
    std::ofstream out(path, std::ios::binary);
    for (size_t i = 0; i < size; i += 4096)
      out << std::string(4096, static_cast<char>('a' + n % 26)) << std::flush;
    return {};
  };
}

static Expected<Resolution> resolve(Cache &cache, uint32_t n, size_t size, int *compiles, unsigned compileMs) {
  return cache.resolve(Kind::Program, keyOf(n), {}, [&]() -> Expected<Product> {
    if (compiles)
      __atomic_fetch_add(compiles, 1, __ATOMIC_SEQ_CST);
    ::usleep(compileMs * 1000);
    return Product{writerOf(n, size), double(compileMs)};
  });
}

template <typename Body> static pid_t spawn(Body body) {
  std::fflush(stdout);
  pid_t pid = ::fork();
  if (pid == 0)
    ::_exit(body() ? 0 : 1);
  return pid;
}

static bool wait(pid_t pid) {
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void singleFlight(const std::string &dir) {
  auto *compiles = static_cast<int *>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i)
    children.push_back(spawn([&] {
      auto cache = Cache::open(dir, {});
      auto result = resolve(*cache, 1, 1 << 20, compiles, 100);
      return result.ok() && result->entry.has_value();
    }));
  bool all = true;
  for (pid_t child : children)
    all &= wait(child);
  expect(all, "8 processes x 1 key: each got the entry");
  expect(*compiles == 1, "8 processes x 1 key: 1 compile, 1 publish");
  expect(Cache::open(dir, {.mode = Mode::ReadOnly, .warn = {}})->statistics().puts == 1, "the statistics say 1 put");
}

static void killed(const std::string &dir, unsigned rounds) {
  std::mt19937 random(7);
  unsigned bad = 0, hits = 0, slow = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    uint32_t n = 100 + round % 3;
    pid_t child = spawn([&]() -> bool {
      auto cache = Cache::open(dir, {.mode = Mode::Refresh, .warn = {}});
      for (;;)
        (void)resolve(*cache, n, 1 << 20, nullptr, 0);
    });
    ::usleep(random() % 12'000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);

    auto cache = Cache::open(dir, {.warn = [&](const std::string &m) { ++bad, std::puts(m.c_str()); }});
    uint64_t begin = nowNs();
    KeyLock held = cache->lock(keyOf(n));
    slow += !held.held() || nowNs() - begin > 1'000'000'000;
    if (auto hit = cache->lookup(Kind::Program, keyOf(n))) {
      ++hits;
      std::ifstream in(hit->path, std::ios::binary);
      std::string bytes(hit->payloadBytes, '\0');
      in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      bad += bytes != std::string(1 << 20, static_cast<char>('a' + n % 26));
    }
  }
  std::printf("killed %u publishers, %u later look-ups hit\n", rounds, hits);
  expect(bad == 0, "kill -9 while publishing: 0 bad reads");
  expect(slow == 0, "kill -9 while publishing: the lock is free at once");
  expect(hits > 0, "some publishes got through");
}

static void cap(const std::string &dir) {
  constexpr uint64_t maxBytes = 2 << 20;
  std::vector<pid_t> children;
  for (uint32_t i = 0; i < 4; ++i)
    children.push_back(spawn([&, i] {
      auto cache = Cache::open(dir, {.maxBytes = maxBytes, .warn = {}});
      for (uint32_t j = 0; j < 30; ++j)
        if (!resolve(*cache, i * 64 + j, 64 << 10, nullptr, 0).ok())
          return false;
      return true;
    }));
  bool all = true;
  for (pid_t child : children)
    all &= wait(child);
  uint64_t bytes = 0;
  for (auto &info : Cache::open(dir, {.mode = Mode::ReadOnly, .warn = {}})->list(true)) {
    bytes += info.fileBytes;
    all &= info.damage.empty();
  }
  std::printf("%.1f of 2.0 MiB used\n", double(bytes) / (1 << 20));
  expect(all, "4 publishers over the cap: no failure, no damage");
  expect(bytes <= maxBytes + maxBytes / 10, "the cap is not passed by more than 10 %");
}

int main(int argc, char **argv) {
  std::string pattern = "/tmp/gaudi-cache-stress-XXXXXX";
  std::string dir = ::mkdtemp(pattern.data());
  singleFlight(dir + "/a");
  killed(dir + "/b", argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 50);
  cap(dir + "/c");
  std::filesystem::remove_all(dir);
  return failures != 0;
}
