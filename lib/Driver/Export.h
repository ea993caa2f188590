//===- Export.h - planned rt program -> artefact metadata -------*- C++ -*-===//
#pragma once

#include "dialects/graph/Graph.h"
#include "lib/Driver/PlanMemory.h"
#include "runtime/schema/plan_generated.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace gaudi::driver {

/// The metadata of a .gdx and the constants computed by the compiler.
struct ExportedProgram {
  schema::ProgramT program;
  std::vector<char> rodata;
};

/// The model's weight tensors by name, as they are in its files.
using WholeWeights = llvm::StringMap<graph::WeightAttr>;

/// The weights that an imported module refers to.
WholeWeights wholeWeights(mlir::ModuleOp imported);

/// One-to-one translation of the planned rt module (every rt.alloc has an offset). Weights become pack steps and
/// sources, dense constants bytes of rodata. A slice of a small weight (position embeddings, cut to the sequence)
/// becomes a view of the whole, so that programs of all shapes share one file of packed weights. Leaves target,
/// provenance and weights_digest empty.
ExportedProgram exportProgram(mlir::ModuleOp module, const PlannedMemory &memory, const WholeWeights &whole);

} // namespace gaudi::driver
