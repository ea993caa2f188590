//===- Simplify.h - pattern sets of the simplify pass ----------------------===//
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace gaudi::transforms {

/// Broadcasts move below elementwise ops, or vanish where numpy broadcasting is implied.
void addPushBroadcastPatterns(mlir::RewritePatternSet &patterns);

/// Reshapes move below elementwise ops with scalars, so that chains stay in one piece and the view comes last.
void addSinkReshapePatterns(mlir::RewritePatternSet &patterns);

/// Reshapes that keep the last dim move below the bias, residual and activation that follow a matmul.
void addSinkMatMulReshapePatterns(mlir::RewritePatternSet &patterns);

} // namespace gaudi::transforms
