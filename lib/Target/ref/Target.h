//===- Target.h - the reference target --------------------------*- C++ -*-===//
#pragma once

#include "lib/Target/Target.h"

namespace gaudi::ref {

/// One kernel per graph op; the code is their text, which the evaluator runs.
std::unique_ptr<Target> createTarget();

} // namespace gaudi::ref
