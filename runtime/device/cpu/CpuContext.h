//===- CpuContext.h - one stream of execution on the CPU --------*- C++ -*-===//
#pragma once

#include "gaudi/Runtime.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/exec/Arguments.h"
#include "runtime/memory/Slab.h"

namespace gaudi {

class CpuExecutable;

/// Launches an entry's program. Everything is resolved when the context is made; run() fills in the callers' pointers.
class CpuContext : public Context {
public:
  /// `slab` holds the planned arena and behind it `threads` scratch areas of `scratchStride` bytes.
  CpuContext(std::shared_ptr<const CpuExecutable> executable, Slab slab, unsigned threads, unsigned spinMicros,
             uint64_t scratchStride);

  Status run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) override;
  Status runProfiled(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                     std::vector<KernelTime> &times) override;
  unsigned threads() const override { return pool.threads(); }

private:
  Status bind(std::span<const TensorView> inputs, std::span<const TensorView> outputs);
  Status faultStatus(size_t launch, int32_t code) const;

  std::shared_ptr<const CpuExecutable> executable;
  Slab slab;
  ArgumentTable args;
  std::vector<Work> launches; ///< same order as Executable::kernels()
  ThreadPool pool;
};

} // namespace gaudi
