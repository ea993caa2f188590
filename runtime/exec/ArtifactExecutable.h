//===- ArtifactExecutable.h - what all devices' executables share -*- C++ -*-===//
#pragma once

#include "runtime/exec/Arguments.h"
#include "runtime/exec/Describe.h"
#include "runtime/load/Artifact.h"

namespace gaudi {

/// An Executable that is its artefact: signature, figures and constants come from there. A device adds code and
/// contexts.
class ArtifactExecutable : public Executable {
public:
  explicit ArtifactExecutable(std::unique_ptr<Artifact> opened)
      : artifact(std::move(opened)), description(describe(artifact->program())) {}

  const std::vector<TensorSpec> &inputs() const override { return description.inputs; }
  const std::vector<TensorSpec> &outputs() const override { return description.outputs; }
  const std::vector<KernelInfo> &kernels() const override { return description.kernels; }
  const MemoryReport &memory() const override { return description.memory; }
  const std::string &target() const override { return description.target; }

  const schema::Program &program() const { return artifact->program(); }
  const schema::Entry &entry() const { return *program().entries()->Get(0); }
  std::span<const std::byte> code() const { return artifact->code(); }
  /// Pointers into the artefact, with the caller's slab.
  EntryMemory memoryWith(std::byte *slab) const {
    return {slab, artifact->rodata().data(), artifact->weights().data()};
  }

private:
  std::unique_ptr<Artifact> artifact;
  Description description;
};

/// ResourceLimit if the context (slab and scratch for all its threads) and the weights do not fit `budget` (0 = none).
Status checkBudget(const MemoryReport &memory, uint64_t slabBytes, unsigned threads, uint64_t scratchStride,
                   uint64_t budget);

} // namespace gaudi
