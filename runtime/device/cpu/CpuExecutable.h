//===- CpuExecutable.h - a loaded CPU artefact ------------------*- C++ -*-===//
#pragma once

#include "runtime/device/cpu/CodeObject.h"
#include "runtime/exec/ArtifactExecutable.h"

namespace gaudi {

/// Code, constants and weights of an artefact, shared by all its contexts. Immutable.
class CpuExecutable : public ArtifactExecutable, public std::enable_shared_from_this<CpuExecutable> {
public:
  using ArtifactExecutable::ArtifactExecutable;
  static Expected<std::shared_ptr<Executable>> load(std::unique_ptr<Artifact> artifact);

  Expected<std::unique_ptr<Context>> createContext(const ContextOptions &options) override;
  KernelFn kernel(uint32_t index) const { return functions[index]; }

private:
  Status loadCode();

  CodeObject object;
  std::vector<KernelFn> functions;
};

} // namespace gaudi
