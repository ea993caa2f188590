//===- Devices.cpp - the explicit list of devices -------------------------===//
#include "runtime/device/Devices.h"

#include "runtime/base/Text.h"
#include "runtime/device/cpu/CpuExecutable.h"
#include "runtime/device/null/NullDevice.h"
#include "runtime/device/ref/RefDevice.h"

namespace gaudi {

std::span<const Device> devices() {
  static constexpr Device list[] = {
      {"cpu", "x86-64 native code", [] { return Status(); }, CpuExecutable::load},
      {"ref", "reference evaluator in fp64, one op at a time", ref::probe, ref::load},
      {"null", "template for new devices", null::probe, null::load},
  };
  return list;
}

static Expected<const Device *> findDevice(std::string_view name, StatusCode ifMissing) {
  std::vector<std::string_view> known;
  for (const Device &device : devices()) {
    if (device.name == name)
      return &device;
    known.push_back(device.name);
  }
  return Status::error(ifMissing, cat("no device '", name, "'"), cat("devices: ", join(known, ", ")));
}

Expected<std::shared_ptr<Executable>> Executable::open(const std::string &path, const OpenOptions &options) {
  Expected<std::unique_ptr<Artifact>> artifact = Artifact::open(path, options);
  if (!artifact.ok())
    return artifact.takeStatus();
  std::string built = (*artifact)->program().target()->device()->str();
  std::string_view wanted = options.device.empty() ? std::string_view(built) : std::string_view(options.device);
  Expected<const Device *> device =
      findDevice(wanted, options.device.empty() ? StatusCode::BadArtifact : StatusCode::Usage);
  if (!device.ok())
    return device.takeStatus().annotate(path);
  if (wanted != built && wanted != "null")
    return Status::error(StatusCode::BadArtifact, cat(path, ": compiled for device '", built, "', not '", wanted, "'"),
                         cat("compile the model with --target=", wanted));
  GAUDI_TRY((*device)->probe());
  GAUDI_TRY((*artifact)->loadWeights(options));
  Expected<std::shared_ptr<Executable>> executable = (*device)->load(artifact.take());
  if (!executable.ok())
    return executable.takeStatus().annotate(path);
  return executable;
}

} // namespace gaudi
