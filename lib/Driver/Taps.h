//===- Taps.h - intermediate values as extra results ------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gaudi::driver {

/// Makes every group result of `main` that is a named value of the model (graph/Locations.h) a result of `main`, called
/// "tap:" and its name, in the order of execution. What is a result already, or has no name, is left alone. Two
/// devices' taps of one name hold the same elements in the same order (their shapes may differ by a reshape), so that
/// `gaudi-run compare` can tell where the devices part. Returns their number.
unsigned addTaps(mlir::func::FuncOp main);

} // namespace gaudi::driver
