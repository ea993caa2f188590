//===- Kernel.h - from a group to a CPU kernel: the emitters' contract ----===//
//
// A graph.group becomes one function that runs tasks [lo, hi) of a grid:
//
//   func.func @kernel(%in0: memref<...>, ..., %out0: memref<...>, ..., %lo: index, %hi: index,
//                     %scratch: memref<Nxi8>) -> i32
//
// Emitters build its body from scf, memref, arith, math, vector (upstream lowering is Codegen.cpp's). Code generation
// wraps it in the C ABI of runtime/exec/KernelAbi.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "lib/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <optional>
#include <string>

namespace gaudi::cpu {

/// What the code may use. One row of a table per ISA level (Isa.cpp); picked from --target-cpu or the host.
struct Isa {
  std::string name;                  ///< "avx512", "avx2", "sse4"
  std::string cpu;                   ///< LLVM -mcpu, resolved from "native"
  std::vector<std::string> features; ///< sorted LLVM ISA features recorded in the artefact and checked at load
  unsigned vectorBytes = 32;         ///< widest vector register
  unsigned vectorRegisters = 16;
  unsigned matmulRows = 6;    ///< MR of the register tile
  unsigned matmulVectors = 2; ///< NR / lanes
  uint64_t l1Bytes = 32 << 10, l2Bytes = 512 << 10, l3Bytes = 32 << 20;
  unsigned lanesF32() const { return vectorBytes / 4; }
};

/// Operands of a group as the emitter may see them.
struct EmitRequest {
  graph::GroupOp group;
  /// Per operand: the frame passes a constant (so a panel layout may be asked for).
  llvm::SmallVector<bool> isConstant;
  const Isa &isa;
  unsigned threads; ///< expected workers, to size the grid; results must not depend on it
};

/// The memref type in which a tensor lies in memory: row-major, identity layout, i1 as i8, unsigned integers as
/// signless of the same width.
mlir::MemRefType memoryType(mlir::RankedTensorType type);

/// The kernel function under construction.
struct KernelBuilder {
  mlir::OpBuilder builder;
  mlir::func::FuncOp func;
  llvm::SmallVector<mlir::Value> inputs, outputs; ///< memrefs (panels: memref<PxKxNRxT>)
  mlir::Value lo, hi;                             ///< index
  mlir::Value scratch;                            ///< memref<scratchBytes x i8>
};

/// An emitter. `match` decides, without building anything, whether it can emit this group and how; `emit` builds the
/// body of a function whose signature was made from that plan. emit must succeed for whatever match accepted.
struct Emitter {
  llvm::StringRef kind; ///< "matmul", "batch_matmul", "attention", "rows", "pointwise", "generic"
  std::optional<KernelPlan> (*match)(const EmitRequest &);
  void (*emit)(const EmitRequest &, const KernelPlan &, KernelBuilder &);
};

/// All emitters, most specific first; "generic" is last and takes any single-op group of primitives.
llvm::ArrayRef<Emitter> emitters();

} // namespace gaudi::cpu
