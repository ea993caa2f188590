//===- CpuExecutable.h - a loaded CPU artefact ------------------*- C++ -*-===//
#pragma once

#include "gaudi/Runtime.h"
#include "runtime/device/cpu/CodeObject.h"
#include "runtime/exec/Describe.h"
#include "runtime/load/Artifact.h"

namespace gaudi {

/// Code, constants and weights of an artefact, shared by all its contexts. Immutable.
class CpuExecutable : public Executable, public std::enable_shared_from_this<CpuExecutable> {
public:
  static Expected<std::shared_ptr<Executable>> load(std::unique_ptr<Artifact> artifact);

  const std::vector<TensorSpec> &inputs() const override { return description.inputs; }
  const std::vector<TensorSpec> &outputs() const override { return description.outputs; }
  const std::vector<KernelInfo> &kernels() const override { return description.kernels; }
  const MemoryReport &memory() const override { return description.memory; }
  const std::string &target() const override { return description.target; }
  Expected<std::unique_ptr<Context>> createContext(const ContextOptions &options) override;

  const schema::Entry &entry() const { return *artifact->program().entries()->Get(0); }
  KernelFn kernel(uint32_t index) const { return functions[index]; }
  /// First byte of RoData or Weights.
  const std::byte *base(schema::Place place) const;

private:
  Status loadCode();

  std::unique_ptr<Artifact> artifact;
  CodeObject code;
  std::vector<KernelFn> functions;
  Description description;
};

} // namespace gaudi
