//===- Arguments.h - the pointers that launches get -------------*- C++ -*-===//
#pragma once

#include "gaudi/Runtime.h"
#include "runtime/schema/plan_generated.h"

namespace gaudi {

/// Memory that an entry's buffers lie in, but for inputs and outputs, which come with every call.
struct EntryMemory {
  std::byte *slab = nullptr;
  const std::byte *rodata = nullptr, *weights = nullptr;
};

/// One pointer per launch argument of an entry. Everything is resolved when the table is made; bind() fills in the
/// callers' pointers and allocates nothing.
class ArgumentTable {
public:
  /// `entry` must be verified (runtime/load/Program.h).
  ArgumentTable(const schema::Entry &entry, const EntryMemory &memory);

  /// The views must have been checked (IoCheck.h).
  void bind(std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
    for (const Patch &patch : patches)
      args[patch.arg] = static_cast<std::byte *>((patch.isOutput ? outputs : inputs)[patch.index].data) + patch.offset;
  }
  /// Stays where it is for the life of the table.
  void *const *of(const schema::Launch &launch) const { return args.data() + launch.arg_begin(); }

private:
  void resolve(uint32_t arg, const schema::Buffer &buffer, const EntryMemory &memory);

  /// A pointer that depends on the call.
  struct Patch {
    uint32_t arg;
    bool isOutput;
    uint32_t index;
    uint64_t offset;
  };

  std::vector<void *> args;
  std::vector<Patch> patches;
};

} // namespace gaudi
