//===- Executable.h - a loaded CPU artefact ---------------------*- C++ -*-===//
#pragma once

#include "gaudi/Runtime.h"
#include "runtime/base/MappedFile.h"
#include "runtime/load/CodeObject.h"
#include "runtime/load/Program.h"

namespace gaudi {

class CpuExecutable : public Executable, public std::enable_shared_from_this<CpuExecutable> {
public:
  static Expected<std::shared_ptr<Executable>> open(const std::string &path, const OpenOptions &options);

  const std::vector<TensorSpec> &inputs() const override { return inputSpecs; }
  const std::vector<TensorSpec> &outputs() const override { return outputSpecs; }
  const std::vector<KernelInfo> &kernels() const override { return kernelInfos; }
  const MemoryReport &memory() const override { return report; }
  const std::string &target() const override { return targetName; }
  Expected<std::unique_ptr<Context>> createContext(const ContextOptions &options) override;

  const schema::Program &program() const { return *meta; }
  const schema::Entry &entry() const { return *meta->entries()->Get(0); }
  KernelFn kernel(uint32_t index) const { return functions[index]; }
  /// First byte of the place, for places that belong to the executable.
  const std::byte *base(schema::Place place) const;

private:
  Status load(const std::string &path, const OpenOptions &options);
  Status loadCode();
  Status loadWeights(const OpenOptions &options);
  void describe();

  MappedFile file, weightsFile;
  gdx::Container container;
  const schema::Program *meta = nullptr;
  CodeObject code;
  std::vector<KernelFn> functions;
  std::span<const std::byte> weights, rodata;
  std::vector<TensorSpec> inputSpecs, outputSpecs;
  std::vector<KernelInfo> kernelInfos;
  MemoryReport report;
  std::string targetName;
};

} // namespace gaudi
