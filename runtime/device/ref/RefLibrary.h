//===- RefLibrary.h - opens libgaudi_ref.so ---------------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "runtime/device/ref/RefAbi.h"

namespace gaudi::ref {

/// $GAUDI_REF_LIBRARY, else libgaudi_ref.so beside the program or library that this code is in, or in ../lib from
/// there; never by search path, which could find another version's. Opened once, and never closed: LLVM cannot be
/// unloaded. Errors: Unsupported.
Expected<const Api *> openLibrary();

} // namespace gaudi::ref
