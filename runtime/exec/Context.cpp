//===- Context.cpp - one stream of execution on the CPU -------------------===//
#include "runtime/exec/Context.h"

#include "runtime/base/Clock.h"
#include "runtime/exec/Executable.h"

using namespace gaudi;

static uint64_t scratchOffset(const Slab &slab, unsigned threads, uint64_t stride) {
  return slab.sizeBytes() - stride * threads; // the scratch areas are the slab's tail
}

CpuContext::CpuContext(std::shared_ptr<const CpuExecutable> exe, Slab memory, unsigned threads, unsigned spinMicros,
                       uint64_t scratchStride)
    : executable(std::move(exe)), slab(std::move(memory)),
      pool(threads, spinMicros, slab.data() + scratchOffset(slab, threads, scratchStride), scratchStride) {
  const schema::Entry &entry = executable->entry();
  args.resize(entry.args()->size());
  for (uint32_t i = 0; i < args.size(); ++i) {
    const schema::Buffer &b = *entry.buffers()->Get(entry.args()->Get(i));
    switch (b.place()) {
    case schema::Place::Input:
    case schema::Place::Output: patches.push_back({i, b.place() == schema::Place::Output, b.index(), b.offset()}); break;
    case schema::Place::Slab: args[i] = slab.data() + b.offset(); break;
    default:
      // Kernels only read constants; the ABI has one pointer type for all.
      args[i] = const_cast<std::byte *>(executable->base(b.place())) + b.offset();
    }
  }
  for (const schema::Launch *l : *entry.launches())
    launches.push_back({{executable->kernel(l->kernel()), args.data() + l->arg_begin(), static_cast<int64_t>(l->grid()),
                         static_cast<int64_t>(l->chunk())},
                        l->info()});
}

static Status checkSizes(const char *what, const std::vector<TensorSpec> &specs, std::span<const TensorView> views) {
  if (views.size() != specs.size())
    return Status::error(StatusCode::Usage, std::string("wrong number of ") + what + "s (found " + std::to_string(views.size()) +
                                                ", expected " + std::to_string(specs.size()) + ")");
  for (size_t i = 0; i < views.size(); ++i)
    if (views[i].sizeBytes != specs[i].sizeBytes() || (!views[i].data && views[i].sizeBytes))
      return Status::error(StatusCode::Usage, std::string(what) + " '" + specs[i].name + "': got " +
                                                  std::to_string(views[i].sizeBytes) + " bytes, need " + toString(specs[i]) + " (" +
                                                  std::to_string(specs[i].sizeBytes()) + " bytes)");
  return {};
}

Status CpuContext::bind(std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
  GAUDI_TRY(checkSizes("input", executable->inputs(), inputs));
  GAUDI_TRY(checkSizes("output", executable->outputs(), outputs));
  for (const Patch &p : patches)
    args[p.arg] = static_cast<std::byte *>((p.isOutput ? outputs : inputs)[p.index].data) + p.offset;
  return {};
}

Status CpuContext::faultStatus(size_t launch, int32_t code) const {
  const KernelInfo &info = executable->kernels()[launch];
  bool isIndex = code == static_cast<int32_t>(KernelFault::IndexOutOfRange);
  return Status::error(StatusCode::Runtime,
                       "node '" + info.name + "': " + (isIndex ? "index out of range" : "kernel fault " + std::to_string(code)),
                       isIndex ? "an input holds an index outside of its table; check the token ids against the vocabulary" : "");
}

Status CpuContext::launchAll(std::vector<KernelTime> *times) {
  for (uint32_t i = 0; i < launches.size(); ++i) {
    uint64_t begin = times ? nowNs() : 0;
    int32_t code = pool.run(launches[i].work);
    if (times)
      times->push_back({i, begin, nowNs()});
    if (code)
      return faultStatus(i, code);
  }
  return {};
}

Status CpuContext::run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
  GAUDI_TRY(bind(inputs, outputs));
  return launchAll(nullptr);
}

Status CpuContext::runProfiled(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                               std::vector<KernelTime> &times) {
  GAUDI_TRY(bind(inputs, outputs));
  return launchAll(&times);
}
