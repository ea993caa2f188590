//===- RefDevice.h - the reference evaluator as a device --------*- C++ -*-===//
#pragma once

#include "runtime/load/Artifact.h"

namespace gaudi::ref {

/// Unsupported if libgaudi_ref.so cannot be opened; see RefLibrary.h for where it is looked for.
Status probe();
/// Runs what the `ref` target wrote: every op alone, in fp64/int64, rounded to its element type in between. Slow, and
/// right: the judge of the other devices.
Expected<std::shared_ptr<Executable>> load(std::unique_ptr<Artifact> artifact);

} // namespace gaudi::ref
