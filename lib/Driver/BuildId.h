//===- BuildId.h - identity of this compiler --------------------*- C++ -*-===//
#pragma once

#include <string>

namespace gaudi::driver {

/// "gaudi 0.1.0 <build-id>": the ELF build-id of the running tool and of libLLVM and libMLIR. A version alone would
/// give stale cache hits during development.
std::string compilerIdentity();

} // namespace gaudi::driver
