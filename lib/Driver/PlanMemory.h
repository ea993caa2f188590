//===- PlanMemory.h - offsets for the allocs of an rt program ---*- C++ -*-===//
#pragma once

#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gaudi::driver {

struct PlannedMemory {
  plan::Problem problem;
  plan::Plan plan;
};

/// Lifetimes, views and in-place chances of `entry`'s rt.alloc ops -> offsets, written back as `at OFFSET`. The plan
/// has passed the validator. Fails with ResourceLimit if `options.budget` cannot be met.
Expected<PlannedMemory> planMemory(mlir::func::FuncOp entry, const plan::Options &options);

} // namespace gaudi::driver
