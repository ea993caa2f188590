//===- PieceLoops.h - the loops over a piece of the result ------*- C++ -*-===//
#pragma once

#include "lib/Target/cpu/emit/Fused.h"

namespace gaudi::cpu {

/// How the elements of a piece are shared out to tasks: long runs are cut, short ones collected.
struct Tasks {
  int64_t rows, run;
  int64_t rowsPerTask = 1; ///< > 1 only if a row is one part
  int64_t part;            ///< elements of the run in one task
  int64_t partsPerRow = 1;

  /// `cost`: elements read for one of the result.
  explicit Tasks(const IndexSpace &space, int64_t cost = 1);
  int64_t count() const;
};

/// Emits, for one piece after the other,
///
///   for task in [lo, hi)                  of this piece
///     for row in the task's rows          outer loop variables from the row number; what they decide is computed here
///       for r in the run by `width`       vectors, then one masked vector or scalars
///
class PieceLoops {
public:
  PieceLoops(FusedEmitter &fused, KernelBuilder &k, const Isa &isa, graph::GroupOp group)
      : isa(isa), f(fused), k(k), group(group) {}

  using Body = llvm::function_ref<void()>;
  /// Calls `body` in the innermost loop (several times: vectors, tail) with the run bound and the width set.
  void emit(const Piece &piece, const Tasks &tasks, Body body);

  /// The same for strips: the run advances by `side`, whole squares only (TransposeTiles.h).
  void emitStrips(const Piece &piece, const Tasks &tasks, int64_t side, llvm::function_ref<void(mlir::Value run)> body);

  /// Runs `body` inside a new loop of the fused emitter.
  void loop(mlir::Value low, mlir::Value high, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  mlir::Value index(int64_t v);

  const Isa &isa;
  /// Registers per vector where the run is long enough: more lines in flight for loops inside the body.
  int64_t registersPerVector = 1;

private:
  using RowBody =
      llvm::function_ref<void(mlir::Value row, mlir::Value begin, mlir::Value end, std::optional<int64_t> count)>;
  void emitTasks(const Tasks &tasks, RowBody row);
  void bindOuter(const Piece &piece, mlir::Value row);
  void emitRow(const Piece &piece, mlir::Value row, mlir::Value begin, mlir::Value end, std::optional<int64_t> count,
               Body body);
  void emitElements(const Piece &piece, mlir::Value r, int64_t width, mlir::Value mask, Body body);
  bool masksTails(const Piece &piece);
  template <typename Op> mlir::Value make(mlir::Value x, mlir::Value y) { return Op::create(f.builder(), f.loc, x, y); }

  FusedEmitter &f;
  KernelBuilder &k;
  graph::GroupOp group;
  int64_t first = 0; ///< grid position of the next piece
};

/// Fills plan.inPlace: a result may take over an operand of its size that is only ever read at the element being
/// written, provided that the emitter loads all operands of a step before it stores any result.
void permitInPlace(graph::GroupOp group, llvm::ArrayRef<Piece> pieces, KernelPlan &plan);

/// Vector lanes for elements of at most `widestBytes`: one register of them; 16-bit floats are computed in f32.
int64_t laneCount(const Isa &isa, graph::GroupOp group, unsigned widestBytes);
/// True if a partial vector of `type` can be loaded and stored under a mask: natively for all element sizes with
/// AVX-512, from 4 bytes on with AVX2.
bool masksElements(const Isa &isa, mlir::Type element);

} // namespace gaudi::cpu
