//===- ArtifactExecutable.cpp - what all devices' executables share -------===//
#include "runtime/exec/ArtifactExecutable.h"

#include "runtime/base/Text.h"

namespace gaudi {

Status checkBudget(const MemoryReport &memory, uint64_t slabBytes, unsigned threads, uint64_t scratchStride,
                   uint64_t budget) {
  uint64_t total = slabBytes + scratchStride * threads + memory.weights; // no overflow: limits of Program.cpp
  if (!budget || total <= budget)
    return {};
  return Status::error(StatusCode::ResourceLimit,
                       cat("needs ", total, " bytes (weights ", formatBytes(memory.weights), ", slab ",
                           formatBytes(slabBytes), ", scratch ", threads, " x ", formatBytes(scratchStride),
                           "), budget is ", budget),
                       "raise --memory-budget, use fewer threads, or compile for a smaller batch or sequence length");
}

} // namespace gaudi
