//===- TransposeTiles.h - pieces whose reads run across the vectors -------===//
//
// A transposed operand is contiguous along another loop variable than the result. Such a piece is walked in squares of
// `lanes` x `lanes` elements: the operand's lines are loaded, transposed in registers, and then serve as the values of
// that read while the square's rows are computed as usual.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lib/Target/cpu/emit/PieceLoops.h"

namespace gaudi::cpu {

/// Side of the squares for this group. 16 at most: bytes would need 6 levels of shuffles for 64.
int64_t squareSide(const Isa &isa, graph::GroupOp group, const Piece &piece);

/// The loop variable along which all reads that are strided along the run are contiguous; nullopt if there is none, or
/// less than one square of it.
std::optional<unsigned> crossVariable(const Piece &piece, int64_t side);

/// Cuts the piece's space so that its first part consists of whole squares.
llvm::SmallVector<IndexSpace, 3> cutToSquares(const Piece &piece, unsigned cross, int64_t side);

/// Tasks of a piece of whole squares: a row is a strip of squares along the run.
Tasks stripTasks(const Piece &piece, unsigned cross, int64_t side);

/// Emits the loops; `row` computes and stores one row of a square.
void emitStrips(PieceLoops &loops, FusedEmitter &f, const Piece &piece, unsigned cross, int64_t side,
                PieceLoops::Body row);

} // namespace gaudi::cpu
