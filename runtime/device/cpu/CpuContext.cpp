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
      pool(threads, spinMicros, scratchBase(slab, threads, scratchStride), scratchStride) {
  const schema::Entry &entry = executable->entry();
  args.resize(entry.args()->size());
  for (uint32_t i = 0; i < args.size(); ++i)
    resolve(i, *entry.buffers()->Get(entry.args()->Get(i)));
  for (const schema::Launch *launch : *entry.launches())
    launches.push_back({executable->kernel(launch->kernel()), args.data() + launch->arg_begin(),
                        static_cast<int64_t>(launch->grid()), static_cast<int64_t>(launch->chunk())});
}

void CpuContext::resolve(uint32_t arg, const schema::Buffer &buffer) {
  switch (buffer.place()) {
  case schema::Place::Input:
  case schema::Place::Output:
    patches.push_back({arg, buffer.place() == schema::Place::Output, buffer.index(), buffer.offset()});
    break;
  case schema::Place::Slab:
    args[arg] = slab.data() + buffer.offset();
    break;
  case schema::Place::RoData:
  case schema::Place::Weights:
    // Kernels only read constants (their pages are read-only); the ABI has one pointer type for all.
    args[arg] = const_cast<std::byte *>(executable->base(buffer.place())) + buffer.offset();
    break;
  }
}

Status CpuContext::bind(std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
  GAUDI_TRY(checkIo(executable->inputs(), inputs, executable->outputs(), outputs));
  for (const Patch &patch : patches)
    args[patch.arg] = static_cast<std::byte *>((patch.isOutput ? outputs : inputs)[patch.index].data) + patch.offset;
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
