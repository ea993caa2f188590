//===- KernelAbi.h - the contract between compiled kernels and the runtime ===//
#pragma once

#include <cstdint>

namespace gaudi {

/// Every kernel of a CPU artefact has this signature (C calling convention).
///   args     one pointer per buffer of the launch, in the order of Launch.arg_begin; slab, rodata and weights
///            pointers are 64-byte aligned, input and output pointers only to their element.
///   lo, hi   half-open range of tasks of the launch's grid; calls with disjoint ranges may run in parallel.
///   scratch  this worker's private memory, Kernel.scratch bytes, 64-byte aligned; contents undefined.
/// Returns 0, or a KernelFault; after a fault the outputs are undefined, memory outside them is untouched.
/// A kernel never allocates, never calls anything but memcpy/memmove/memset, and uses at most 4 KiB of stack.
using KernelFn = int32_t (*)(void *const *args, int64_t lo, int64_t hi, void *scratch);

/// Run-time faults a kernel can report. Stored in code: never renumber.
enum class KernelFault : int32_t {
  None = 0,
  IndexOutOfRange = 1, ///< gather/scatter index outside its axis
};

} // namespace gaudi
