//===- TestSupport.h - a cache in a folder of its own -----------*- C++ -*-===//
#pragma once

#include "runtime/cache/Cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gaudi::cache {

/// A folder that is removed at the end.
struct TempDir {
  std::string top, path;
  explicit TempDir(const char *suffix = "") {
    std::string pattern = std::string("/tmp/gaudi-cache-test-XXXXXX");
    top = ::mkdtemp(pattern.data());
    path = top + suffix;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(top, ignored);
  }
};

inline Key keyOf(uint32_t n) {
  Key key;
  for (size_t i = 0; i < 32; ++i)
    key.bytes[i] = static_cast<uint8_t>((n >> (8 * (i % 4))) + 37 * i);
  return key;
}

inline std::string payloadOf(uint32_t n, size_t size = 10'000) {
  std::string bytes(size, '\0');
  uint32_t state = n * 2654435761u + 1;
  for (char &c : bytes)
    c = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

inline Writer writerOf(std::string bytes) {
  return [bytes = std::move(bytes)](const std::string &path) -> Status {
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    return out ? Status() : Status::error(StatusCode::Runtime, path + ": cannot write");
  };
}

inline std::string readFile(const std::string &path, size_t size = SIZE_MAX) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str().substr(0, size);
}

/// Warnings land in `messages`.
inline std::unique_ptr<Cache> openFor(const std::string &dir, std::vector<std::string> *messages = nullptr,
                                      Options options = {}) {
  options.warn = [messages](const std::string &m) {
    if (messages)
      messages->push_back(m);
  };
  return Cache::open(dir, std::move(options));
}

inline bool put(Cache &cache, uint32_t n, size_t size = 10'000, Metadata metadata = {}) {
  auto hit = cache.publish(Kind::Program, keyOf(n), metadata, writerOf(payloadOf(n, size)));
  return hit.ok() && hit->has_value();
}

inline size_t countFiles(const std::string &dir) {
  size_t n = 0;
  std::error_code ignored;
  for (auto &entry : std::filesystem::recursive_directory_iterator(dir, ignored))
    n += entry.is_regular_file();
  return n;
}

} // namespace gaudi::cache
