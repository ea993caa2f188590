//===- Emit.h - the emitters, one function each -----------------*- C++ -*-===//
#pragma once

#include "lib/Target/cpu/Kernel.h"

namespace gaudi::cpu {

Emitter matmulEmitter();      // MatMul.cpp
Emitter batchMatmulEmitter(); // BatchMatMul.cpp
Emitter attentionEmitter();   // Attention.cpp
Emitter rowsEmitter();        // Rows.cpp
Emitter pointwiseEmitter();   // Pointwise.cpp
Emitter scatterEmitter();     // Scatter.cpp
Emitter genericEmitter();     // Generic.cpp

} // namespace gaudi::cpu
