//===- Devices.h - the explicit list of devices -----------------*- C++ -*-===//
#pragma once

#include "gaudi/Runtime.h"

#include <span>
#include <string_view>

namespace gaudi {

/// What a device must be able to do. Names match Target.device of artefacts.
struct Device {
  std::string_view name;
  std::string_view description;
  Expected<std::shared_ptr<Executable>> (*open)(const std::string &path, const OpenOptions &options);
};

/// Every device of this build, the default first. No static registration: this list is all there is.
std::span<const Device> devices();

} // namespace gaudi
