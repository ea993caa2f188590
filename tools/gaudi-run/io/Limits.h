//===- Limits.h - what a data file may ask for ------------------*- C++ -*-===//
#pragma once

#include <cstdint>

namespace gaudi::io {

/// Every size is checked against these before anything is allocated.
struct Limits {
  uint64_t maxBytes = 16ull << 30;    ///< of one tensor, unpacked
  uint64_t maxHeaderBytes = 64 << 10; ///< of an npy header; numpy's own limit is 10,000
  unsigned maxRank = 32;              ///< numpy's
  uint64_t maxRatio = 1100;           ///< deflate cannot exceed 1032:1, so more is a lie about sizes
  unsigned maxEntries = 10'000;       ///< of an npz
};

} // namespace gaudi::io
