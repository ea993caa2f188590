//===- GroupRules.h - the rules of form-groups -----------------------------===//
#pragma once

#include "lib/Transforms/GroupPlan.h"

namespace gaudi::transforms {

/// Everything but constants, views (reshape), groups and terminators becomes part of a group.
bool isGroupable(mlir::Operation *op);

/// Decides the clusters of a block. Rules in order of what they save: a matmul takes its epilogue first (no pass over
/// memory at all), then rows take what surrounds a reduction, then the rest of the pointwise ops join each other.
void applyGroupRules(mlir::Block &block, GroupPlan &plan);

} // namespace gaudi::transforms
