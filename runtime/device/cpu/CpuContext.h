//===- CpuContext.h - one stream of execution on the CPU --------*- C++ -*-===//
#pragma once

#include "gaudi/Runtime.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/memory/Slab.h"
#include "runtime/schema/plan_generated.h"

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
  void resolve(uint32_t arg, const schema::Buffer &buffer);
  Status bind(std::span<const TensorView> inputs, std::span<const TensorView> outputs);
  Status faultStatus(size_t launch, int32_t code) const;

  /// A pointer argument that depends on the call.
  struct Patch {
    uint32_t arg;
    bool isOutput;
    uint32_t index;
    uint64_t offset;
  };

  std::shared_ptr<const CpuExecutable> executable;
  Slab slab;
  std::vector<void *> args;
  std::vector<Patch> patches;
  std::vector<Work> launches; ///< same order as Executable::kernels()
  ThreadPool pool;
};

} // namespace gaudi
