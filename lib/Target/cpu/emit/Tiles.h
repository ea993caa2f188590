//===- Tiles.h - register tiles of matrix products --------------*- C++ -*-===//
//
// A tile is rows x vectors accumulators that stay in registers for the whole of K (knowledge/cpu.md 1: no K blocking).
// Operands are flat memrefs addressed by element offsets, so that batches, heads and panels are all just offsets.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lib/Target/cpu/Kernel.h"

namespace gaudi::cpu {

/// Terse builders for the index arithmetic of the matrix kernels.
struct TileBuilder {
  mlir::OpBuilder &b;
  mlir::Location loc;
  int64_t lanes; ///< f32 values in a vector register

  mlir::Value index(int64_t v);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y);
  mlir::Value mul(mlir::Value x, int64_t y);
  mlir::Value div(mlir::Value x, int64_t y);
  mlir::Value rem(mlir::Value x, int64_t y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::VectorType vectorType() { return mlir::VectorType::get({lanes}, b.getF32Type()); }

  /// The whole buffer as one dim.
  mlir::Value flat(mlir::Value memref);
  /// memref<count x f32> at byte `offset` of the scratch.
  mlir::Value scratch(mlir::Value scratch, uint64_t offset, int64_t count);
  /// One element as f32 (16-bit floats are widened).
  mlir::Value loadScalar(mlir::Value memref, mlir::Value at);
  /// `lanes` elements as f32; with `count` < lanes only the first count are read, the rest is zero.
  mlir::Value loadVector(mlir::Value memref, mlir::Value at, int64_t count);
  void storeVector(mlir::Value memref, mlir::Value at, mlir::Value vector, int64_t count);
  void storeScalar(mlir::Value memref, mlir::Value at, mlir::Value scalar);
  mlir::Value splat(mlir::Value scalar);
  mlir::Value zeroVector();
};

/// acc[r][v] = sum over k of a(k, r) * b(k, v), k in [0, depth): `rows * vectors` accumulators, row-major.
llvm::SmallVector<mlir::Value> multiplyTile(TileBuilder &t, int64_t rows, int64_t vectors, mlir::Value depth,
                                            llvm::function_ref<mlir::Value(mlir::Value k, int64_t row)> a,
                                            llvm::function_ref<mlir::Value(mlir::Value k, int64_t vector)> b);

/// Transposes a square of `lanes` vectors in registers.
llvm::SmallVector<mlir::Value> transposeSquare(TileBuilder &t, llvm::SmallVector<mlir::Value> rows);

/// Packs B^T: source[n * rowStride + k] for n < count (static), k < depth -> target[k * width + n] at `targetAt`, zero for
/// n in [count, width). Full squares go through registers.
void packTransposed(TileBuilder &t, mlir::Value source, mlir::Value sourceAt, int64_t rowStride, int64_t count,
                    mlir::Value target, mlir::Value targetAt, int64_t width, int64_t depth);

/// Splits `total` rows into tiles of `tile` rows and calls `body(first, rows)`: once inside a loop over full tiles, once
/// behind it for the rest. No overlap, so in-place results are safe.
void forTiles(TileBuilder &t, mlir::Value begin, int64_t total, int64_t tile,
              llvm::function_ref<void(mlir::Value first, int64_t rows)> body);

} // namespace gaudi::cpu
