//===- WeightPack.h - model weights -> kernels' layout ----------*- C++ -*-===//
//
// Executes the PackStep list of a program: copies, conversions and panel packing from the model's files to the packed
// weights that kernels read. Works in units of at most 1 MiB, so any size streams through bounded memory and all
// threads share the work. The layouts are described in runtime/schema/plan.fbs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gaudi/Status.h"
#include "gaudi/Tensor.h"
#include "runtime/schema/plan_generated.h"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace gaudi::pack {

/// One source tensor; the bytes stay owned by the caller and need no alignment.
struct Source {
  DType dtype = DType::F32;
  std::span<const std::byte> bytes;
};

/// Sources of a program as ranges of the model's files, `files` in the order of Program.source_files.
/// Errors: InvalidInput when a range leaves its file or does not fit its shape.
Expected<std::vector<Source>> sourcesFrom(const schema::ProgramT &program,
                                          std::span<const std::span<const std::byte>> files);
Expected<std::vector<Source>> sourcesFrom(const schema::Program &program,
                                          std::span<const std::span<const std::byte>> files);

/// A checked step list, ready to run. Immutable: fill() may be called from many threads.
class Packer {
public:
  /// Checks that every step stays inside its source and inside `sizeBytes`, that steps do not overlap and that their
  /// conversions exist. Errors: InvalidInput, naming the step.
  static Expected<Packer> create(std::span<const schema::PackStep> steps, std::vector<Source> sources,
                                 uint64_t sizeBytes);

  uint64_t sizeBytes() const { return totalBytes; }
  /// Units cover [0, sizeBytes) in order, each at most 1 MiB (one panel row at least).
  size_t unitCount() const { return units.size(); }
  uint64_t unitBegin(size_t unit) const { return units[unit].begin; }
  uint64_t unitBytes(size_t unit) const { return units[unit].end - units[unit].begin; }
  /// Writes every byte of the unit; what no step covers becomes zero. `out` has unitBytes(unit) bytes.
  void fill(size_t unit, std::byte *out) const;

private:
  /// Steps that share one destination tensor.
  struct Group {
    uint32_t stepBegin, stepEnd;
  };
  struct Unit {
    uint64_t begin, end;
    uint32_t group; ///< noGroup = gap
  };
  static constexpr uint32_t noGroup = ~0u;

  void cutUnits();
  void cutRange(uint64_t begin, uint64_t end, uint64_t granule, uint32_t group);

  std::vector<schema::PackStep> steps; ///< by destination
  std::vector<Source> sources;
  std::vector<Group> groups;
  std::vector<Unit> units;
  uint64_t totalBytes = 0;
};

/// Fills `out` (sizeBytes() bytes, 64-byte aligned for speed).
void packInto(const Packer &packer, std::span<std::byte> out, unsigned threads = 1);

/// Receives consecutive pieces; an error stops the stream.
using Sink = std::function<Status(std::span<const std::byte>)>;
/// Produces the packed bytes in order, holding at most `memoryBytes` of them at a time.
Status packTo(const Packer &packer, const Sink &sink, unsigned threads = 1, size_t memoryBytes = 16u << 20);

} // namespace gaudi::pack
