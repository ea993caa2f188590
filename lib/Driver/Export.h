//===- Export.h - planned rt program -> artefact metadata -------*- C++ -*-===//
#pragma once

#include "lib/Driver/PlanMemory.h"
#include "runtime/schema/plan_generated.h"

#include "mlir/IR/BuiltinOps.h"

namespace gaudi::driver {

/// The metadata of a .gdx and the constants computed by the compiler.
struct ExportedProgram {
  schema::ProgramT program;
  std::vector<char> rodata;
};

/// One-to-one translation of the planned rt module (every rt.alloc has an offset). Weights become pack steps and
/// sources, dense constants bytes of rodata. Leaves target, provenance and weights_digest empty.
ExportedProgram exportProgram(mlir::ModuleOp module, const PlannedMemory &memory);

} // namespace gaudi::driver
