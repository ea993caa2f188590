//===- Storage.h - from buffers to blocks of storage ------------*- C++ -*-===//
//
// Views and in-place results share the storage of another buffer. This stage decides who shares, so that placement only
// sees independent blocks: a size, an alignment and a lifetime each.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lib/Plan/Plan.h"

namespace gaudi::plan {

/// One block to place. `size` is rounded up to `align`.
struct Block {
  Bytes size = 0, align = 1;
  Step first = 0, last = 0;
  BufferId root = kNone; ///< the buffer whose own storage this is

  bool live() const { return size && first < last; }
  bool meets(const Block &other) const { return first < other.last && other.first < last; }
};

/// Where each buffer lives: block and bytes from its start.
struct Home {
  uint32_t block;
  Bytes offset;
};

struct Storage {
  std::vector<Block> blocks;
  std::vector<Home> homes; ///< per buffer
  bool shrank = false;     ///< an in-place result is smaller than the storage it took
};

/// Which in-place chances to take. Taking over a larger block keeps the whole of it alive, which can cost more than it
/// saves; solve() tries both.
enum class InPlace { SameSizeOnly, SameOrSmaller };

/// Errors: InvalidInput for lifetimes, alignments, aliases or candidates that make no sense.
Expected<Storage> assignStorage(const Problem &problem, InPlace policy);

/// Sum of live blocks over time: the largest value, and the first step that has it.
struct LiveProfile {
  Bytes peak = 0;
  Step step = 0;
};
LiveProfile liveProfile(const std::vector<Block> &blocks);

} // namespace gaudi::plan
