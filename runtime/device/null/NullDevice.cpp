//===- NullDevice.cpp - template for new devices --------------------------===//
#include "runtime/device/null/NullDevice.h"

namespace gaudi::null {

Status probe() { return {}; }

Expected<std::shared_ptr<Executable>> load(std::unique_ptr<Artifact> artifact) {
  return Status::error(StatusCode::Unsupported, "device 'null': not implemented: load", "see docs/targets.md");
}

} // namespace gaudi::null
