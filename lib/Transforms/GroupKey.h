//===- GroupKey.h - identity of a kernel -----------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <string>

namespace gaudi::transforms {

/// Canonical text of a group: kind, types, which operands are constant, attributes and body; no locations, no names.
/// Equal text = equal kernel, so equal layers are compiled once. `isConstant` has one entry per operand (or is empty).
std::string groupKey(graph::GroupOp group, llvm::ArrayRef<bool> isConstant);

} // namespace gaudi::transforms
