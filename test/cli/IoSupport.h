//===- IoSupport.h - helpers of the file format tests -----------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

namespace gaudi::io {

inline std::span<const std::byte> bytesOf(const std::string &s) { return std::as_bytes(std::span(s)); }

/// A folder that is removed at the end.
struct TempDir {
  std::string path;
  TempDir() {
    std::string pattern = "/tmp/gaudi-io-test-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

/// An npy 1.0 file with this dictionary and data.
inline std::string npyOf(const std::string &dictionary, const std::string &data) {
  std::string out("\x93NUMPY\x01\x00", 8);
  out.push_back(static_cast<char>(dictionary.size() & 255));
  out.push_back(static_cast<char>(dictionary.size() >> 8));
  return out + dictionary + data;
}

template <typename T> std::string raw(std::initializer_list<T> values) {
  std::string out;
  for (T v : values)
    out.append(reinterpret_cast<const char *>(&v), sizeof v);
  return out;
}

} // namespace gaudi::io
