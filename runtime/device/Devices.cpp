//===- Devices.cpp - the explicit list of devices -------------------------===//
#include "runtime/device/Devices.h"

#include "runtime/exec/Executable.h"

using namespace gaudi;

std::span<const Device> gaudi::devices() {
  static constexpr Device list[] = {
      {"cpu", "x86-64 native code", CpuExecutable::open},
  };
  return list;
}

Expected<std::shared_ptr<Executable>> Executable::open(const std::string &path, const OpenOptions &options) {
  std::string_view wanted = options.device.empty() ? devices().front().name : std::string_view(options.device);
  std::string known;
  for (const Device &device : devices()) {
    if (device.name == wanted)
      return device.open(path, options);
    known += (known.empty() ? "" : ", ") + std::string(device.name);
  }
  return Status::error(StatusCode::Usage, "no device '" + std::string(wanted) + "'", "devices: " + known);
}
