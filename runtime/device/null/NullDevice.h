//===- NullDevice.h - template for new devices ------------------*- C++ -*-===//
#pragma once

#include "runtime/load/Artifact.h"

namespace gaudi::null {

/// Copy this folder to start a device; every function says what is missing. See Device in Devices.h for the contract.
Status probe();
Expected<std::shared_ptr<Executable>> load(std::unique_ptr<Artifact> artifact);

} // namespace gaudi::null
