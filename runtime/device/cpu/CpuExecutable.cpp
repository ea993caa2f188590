//===- CpuExecutable.cpp - a loaded CPU artefact --------------------------===//
#include "runtime/device/cpu/CpuExecutable.h"

#include "runtime/base/CpuCount.h"
#include "runtime/base/CpuFeatures.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"
#include "runtime/device/cpu/CpuContext.h"

#include <algorithm>

namespace gaudi {

/// Row 39 of knowledge/runtime.md 6.3: both sides, and only what is missing of ours.
static Status checkFeatures(const schema::Program &program) {
  std::vector<std::string> needed = targetFeatures(program), host = hostCpuFeatures();
  std::vector<std::string> missing = missingFeatures(needed, host);
  if (!missing.empty())
    return Status::error(StatusCode::BadArtifact, cat("needs ", join(missing, ","), "; this CPU has ", join(host, ",")),
                         "rebuild with --target-cpu=native on this machine, or for a common level such as x86-64-v3");
  bool usesTiles = std::find(needed.begin(), needed.end(), "amx-tile") != needed.end();
  if (usesTiles && !requestAmxPermission())
    return Status::error(StatusCode::BadArtifact, "needs amx-tile; the kernel refuses AMX to this process",
                         "rebuild without AMX: --target-cpu=x86-64-v4");
  return {};
}

Expected<std::shared_ptr<Executable>> CpuExecutable::load(std::unique_ptr<Artifact> artifact) {
  GAUDI_TRY(checkFeatures(artifact->program()));
  auto executable = std::make_shared<CpuExecutable>(std::move(artifact));
  GAUDI_TRY(executable->loadCode());
  return std::shared_ptr<Executable>(std::move(executable));
}

Status CpuExecutable::loadCode() {
  const auto &kernels = *program().kernels();
  if (kernels.size() == 0)
    return {};
  Expected<CodeObject> loaded = CodeObject::load(code());
  if (!loaded.ok())
    return loaded.takeStatus();
  object = loaded.take();
  for (const schema::Kernel *kernel : kernels) {
    functions.push_back(object.find(kernel->symbol()->str()));
    if (!functions.back())
      return Status::error(StatusCode::BadArtifact,
                           cat("kernel '", kernel->symbol()->string_view(), "' is not in the code segment"),
                           "compile the model again");
  }
  return {};
}

Expected<std::unique_ptr<Context>> CpuExecutable::createContext(const ContextOptions &options) {
  constexpr unsigned mostThreads = 4096; // the grid arithmetic leaves room for 2^14
  unsigned threads = std::min(options.threads ? options.threads : usableCores(), mostThreads);
  const MemoryReport &report = memory();
  constexpr uint64_t pageBytes = 4096; // scratch areas on pages of their own: no false sharing, local to their worker
  uint64_t slabBytes = alignUp(report.slab, pageBytes), stride = alignUp(report.scratchPerThread, pageBytes);
  uint64_t total = slabBytes + stride * threads; // no overflow: limits of Program.cpp
  GAUDI_TRY(checkBudget(report, slabBytes, threads, stride, options.memoryBudget));
  Expected<Slab> slab = Slab::create(total);
  if (!slab.ok())
    return slab.takeStatus();
  return std::unique_ptr<Context>(
      std::make_unique<CpuContext>(shared_from_this(), slab.take(), threads, options.spinMicros, stride));
}

} // namespace gaudi
