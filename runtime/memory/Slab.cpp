//===- Slab.cpp - the one allocation of a context -------------------------===//
#include "runtime/memory/Slab.h"

#include "runtime/base/Text.h"

#include <sys/mman.h>

namespace gaudi {

Slab::~Slab() {
  if (base)
    munmap(base, bytes);
}

Expected<Slab> Slab::create(uint64_t sizeBytes) {
  Slab slab;
  if (sizeBytes == 0)
    return slab;
  void *p = mmap(nullptr, sizeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return Status::error(StatusCode::ResourceLimit,
                         cat("slab: no room for ", formatBytes(sizeBytes), " of working memory"),
                         "use a smaller batch or sequence length, or free memory");
  constexpr uint64_t worthHugePages = 8 << 20;
  if (sizeBytes >= worthHugePages)
    madvise(p, sizeBytes, MADV_HUGEPAGE); // fewer TLB misses; refused harmlessly where it is off
  slab.base = static_cast<std::byte *>(p);
  slab.bytes = sizeBytes;
  return slab;
}

} // namespace gaudi
