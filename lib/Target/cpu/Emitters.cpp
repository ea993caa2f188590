//===- Emitters.cpp - the explicit list of emitters -----------------------===//
#include "lib/Target/cpu/emit/Emit.h"

using namespace gaudi;
using namespace gaudi::cpu;

/// Groups without a result element: nothing to do, whatever the ops are.
static std::optional<KernelPlan> matchEmpty(const EmitRequest &request) {
  graph::GroupOp group = request.group;
  for (mlir::Type type : group.getResultTypes())
    if (llvm::cast<mlir::RankedTensorType>(type).getNumElements() != 0)
      return std::nullopt;
  return KernelPlan();
}
static void emitNothing(const EmitRequest &, const KernelPlan &, KernelBuilder &) {}

llvm::ArrayRef<Emitter> cpu::emitters() {
  // Most specific first: the first that matches takes the group.
  static const Emitter list[] = {{"empty", matchEmpty, emitNothing},
                                 matmulEmitter(),
                                 batchMatmulEmitter(),
                                 attentionEmitter(),
                                 rowsEmitter(),
                                 pointwiseEmitter(),
                                 scatterEmitter(),
                                 genericEmitter()};
  return list;
}
