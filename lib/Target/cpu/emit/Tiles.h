//===- Tiles.h - register tiles of matrix products --------------*- C++ -*-===//
//
// A tile is rows x vectors accumulators that stay in registers for the whole of K (knowledge/cpu.md 1: no K blocking).
// Operands are flat memrefs addressed by element offsets, so that batches, heads and panels are all just offsets.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lib/Target/cpu/Kernel.h"

namespace gaudi::cpu {

/// Terse builders for the index arithmetic and the vectors of the matrix kernels.
struct TileBuilder {
  TileBuilder(mlir::OpBuilder &b, const Isa &isa);

  mlir::OpBuilder &b;
  mlir::Location loc;
  int64_t lanes; ///< f32 values in a vector register
  bool f16c;     ///< hardware f16 conversions

  mlir::Value index(int64_t v);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t y);
  mlir::Value div(mlir::Value x, int64_t y);
  mlir::Value rem(mlir::Value x, int64_t y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value f32(float v);
  mlir::VectorType vectorType() { return mlir::VectorType::get({lanes}, b.getF32Type()); }

  /// The whole buffer as one dim. 16-bit floats become i16 (the load and store functions below know): LLVM takes masked
  /// bf16 accesses apart through __truncsfbf2, which does not exist here.
  mlir::Value flat(mlir::Value memref);
  /// memref<count x f32> at byte `offset` of the scratch.
  mlir::Value scratch(mlir::Value scratch, uint64_t offset, int64_t count);
  /// One element as f32 (16-bit floats are widened).
  mlir::Value loadScalar(mlir::Value memref, mlir::Value at);
  /// `lanes` elements as f32; with a mask, lanes outside are not read and are zero.
  mlir::Value loadVector(mlir::Value memref, mlir::Value at, mlir::Value mask = {});
  /// Rounds to the memref's element type; with a mask, lanes outside are not written.
  void storeVector(mlir::Value memref, mlir::Value at, mlir::Value vector, mlir::Value mask = {});
  void storeScalar(mlir::Value memref, mlir::Value at, mlir::Value scalar);
  /// Lanes [0, count); null (no mask) if `count` is a constant of at least `lanes`.
  mlir::Value maskOf(mlir::Value count);
  mlir::Value maskOf(int64_t count) { return count >= lanes ? mlir::Value() : maskOf(index(count)); }
  mlir::Value splat(mlir::Value scalar);
  mlir::Value zeroVector();

private:
  mlir::Type elementOf(mlir::Value memref);
  mlir::Value widen(mlir::Value loaded, mlir::Type element);
  mlir::Value narrow(mlir::Value x, mlir::Value memref);
  llvm::DenseMap<mlir::Value, mlir::Type> floatElement; ///< of the i16 buffers that flat() made
};

/// One tile of a product: what to load at step k.
struct TileOperands {
  llvm::function_ref<mlir::Value(mlir::Value k, int64_t row)> a;    ///< scalar
  llvm::function_ref<mlir::Value(mlir::Value k, int64_t vector)> b; ///< vector
  llvm::function_ref<void(mlir::Value k)> prefetch = nullptr;       ///< called once a step
};

/// acc[r][v] = init + sum over k in [0, depth) of a(k, r) * b(k, v): `rows * vectors` accumulators, row-major. Null
/// `init`: zeros.
llvm::SmallVector<mlir::Value> multiplyTile(TileBuilder &t, int64_t rows, int64_t vectors, mlir::Value depth,
                                            const TileOperands &operands, llvm::ArrayRef<mlir::Value> init = {});

/// Rows cut as evenly as possible: `count` tiles, the first `larger` of `rows` rows, the others of one row less. No
/// tile overlaps another (so results may be in place) and none is much smaller than the rest: 128 rows with at most 12
/// are 7 x 12 + 4 x 11, where full tiles and a rest would be 10 x 12 + 8.
struct RowTiles {
  int64_t count = 0, rows = 0, larger = 0;
  static RowTiles cut(int64_t total, int64_t most);
};

/// Calls `body(tile number, first row, rows)` in loops over tiles [begin, end): once per tile height.
void forRowTiles(TileBuilder &t, const RowTiles &tiles, mlir::Value begin, mlir::Value end,
                 llvm::function_ref<void(mlir::Value tile, mlir::Value row, int64_t rows)> body);

/// Number of row blocks for `tasks` other tasks: enough for `threads` workers to finish together, few enough that a
/// block keeps at least a tile.
int64_t chooseBlocks(int64_t tiles, int64_t tasks, unsigned threads);

/// Most rows of a tile of `vectors` columns: accumulators, one column vector each and one row value fit in the
/// registers.
int64_t tileRows(const Isa &isa, int64_t vectors);
/// Columns of a tile, in vectors, for a product of `n` columns: the table's, or a narrower one that wastes less.
int64_t tileVectors(const Isa &isa, int64_t n);

/// Joins all lanes of a vector pairwise, halves first (a vector.reduction of maxima becomes a serial chain of scalars).
mlir::Value reduceLanes(TileBuilder &t, mlir::Value vector,
                        llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join);

/// Transposes a square of `lanes` vectors in registers.
llvm::SmallVector<mlir::Value> transposeSquare(TileBuilder &t, llvm::SmallVector<mlir::Value> rows);

/// Packs B^T: source[n * rowStride + k] for n < count, k < depth -> target[k * width + n], zero for n in [count,
/// width). `count` is a run-time index in [0, width]; `depth` and `width` (a multiple of lanes) are static. f32 out.
void packTransposed(TileBuilder &t, mlir::Value source, mlir::Value sourceAt, int64_t rowStride, mlir::Value count,
                    mlir::Value target, mlir::Value targetAt, int64_t width, int64_t depth);
/// Packs B: source[k * rowStride + n] -> target[k * width + n]; otherwise as packTransposed, `depth` at run time.
void packStraight(TileBuilder &t, mlir::Value source, mlir::Value sourceAt, int64_t rowStride, mlir::Value count,
                  mlir::Value target, mlir::Value targetAt, int64_t width, mlir::Value depth);

} // namespace gaudi::cpu
