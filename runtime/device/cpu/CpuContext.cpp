//===- CpuContext.cpp - one stream of execution on the CPU ----------------===//
#include "runtime/device/cpu/CpuContext.h"

#include "runtime/base/Clock.h"
#include "runtime/base/Text.h"
#include "runtime/device/cpu/CpuExecutable.h"
#include "runtime/exec/IoCheck.h"

namespace gaudi {

/// The scratch areas are the tail of the context's one allocation.
static std::byte *scratchBase(const Slab &slab, unsigned threads, uint64_t stride) {
  return slab.data() + (slab.sizeBytes() - stride * threads);
}

CpuContext::CpuContext(std::shared_ptr<const CpuExecutable> exe, Slab memory, unsigned threads, unsigned spinMicros,
                       uint64_t scratchStride)
    : executable(std::move(exe)), slab(std::move(memory)),
      args(executable->entry(), executable->memoryWith(slab.data())),
      pool(threads, spinMicros, scratchBase(slab, threads, scratchStride), scratchStride) {
  for (const schema::Launch *launch : *executable->entry().launches())
    launches.push_back({executable->kernel(launch->kernel()), args.of(*launch), static_cast<int64_t>(launch->grid()),
                        static_cast<int64_t>(launch->chunk())});
}

Status CpuContext::bind(std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
  GAUDI_TRY(checkIo(executable->inputs(), inputs, executable->outputs(), outputs));
  args.bind(inputs, outputs);
  return {};
}

Status CpuContext::faultStatus(size_t launch, int32_t code) const {
  const std::string &node = executable->kernels()[launch].name;
  if (code == static_cast<int32_t>(KernelFault::IndexOutOfRange))
    return Status::error(StatusCode::Runtime, cat("node '", node, "': index out of range"),
                         "an input holds an index outside of its table; check the token ids against the vocabulary");
  return Status::error(StatusCode::Runtime, cat("node '", node, "': kernel fault ", code));
}

Status CpuContext::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
  GAUDI_TRY(bind(inputs, outputs));
  for (size_t i = 0; i < launches.size(); ++i)
    if (int32_t code = pool.run(launches[i]))
      return faultStatus(i, code);
  return {};
}

Status CpuContext::runProfiled(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                               std::vector<KernelTime> &times) {
  GAUDI_TRY(bind(inputs, outputs));
  times.reserve(times.size() + launches.size());
  for (uint32_t i = 0; i < launches.size(); ++i) {
    uint64_t begin = nowNs();
    int32_t code = pool.run(launches[i]);
    times.push_back({i, begin, nowNs()});
    if (code)
      return faultStatus(i, code);
  }
  return {};
}

} // namespace gaudi
