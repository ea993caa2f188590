//===- Emitters.cpp - the explicit list of emitters -----------------------===//
#include "lib/Target/cpu/emit/Emit.h"

using namespace gaudi;
using namespace gaudi::cpu;

llvm::ArrayRef<Emitter> cpu::emitters() {
  // Most specific first: the first that matches takes the group.
  static const Emitter list[] = {matmulEmitter(), batchMatmulEmitter(), attentionEmitter(),
                                 rowsEmitter(),   pointwiseEmitter(),   scatterEmitter(),
                                 genericEmitter()};
  return list;
}
