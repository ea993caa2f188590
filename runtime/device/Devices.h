//===- Devices.h - the explicit list of devices -----------------*- C++ -*-===//
#pragma once

#include "gaudi/Runtime.h"
#include "runtime/load/Artifact.h"

#include <span>
#include <string_view>

namespace gaudi {

/// What a device must be able to do: turn a verified artefact into an Executable. The grain is coarse on purpose. CUDA
/// graphs and Synapse recipes want the whole program at once, so a device decides itself how to place memory, copy
/// tensors and launch; what is common (verification, signature, size checks) is in load/ and exec/.
/// To add one: a folder beside null/, one row in Devices.cpp.
struct Device {
  std::string_view name; ///< as in Target.device of artefacts
  std::string_view description;
  /// Why the device cannot be used here and now; ok when it can.
  Status (*probe)();
  /// Checks the target, loads the code. The weights are in place. Errors: BadArtifact (target, code), ResourceLimit.
  Expected<std::shared_ptr<Executable>> (*load)(std::unique_ptr<Artifact> artifact);
};

/// Every device of this build. No static registration: this list is all there is.
std::span<const Device> devices();

} // namespace gaudi
