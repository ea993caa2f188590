//===- Fold.h - evaluation of ops on constants, shared by two passes ------===//
#pragma once

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace gaudi::transforms {

/// Shape operands of reshape, broadcast, slice and pad that are constant become attributes. True if any did.
bool operandsToAttributes(mlir::Operation *op);

/// Infers the result types again and sets them. Fails with the op's diagnostic.
llvm::LogicalResult refineTypes(mlir::Operation *op);

/// Replaces the uses of the op's results by constants or by existing values, if it folds or if all operands are dense
/// constants within the limits described at fold-constants. True if it did; the op is then dead. Fails, after the op's
/// diagnostic, if the constants are invalid (an index out of range).
llvm::FailureOr<bool> foldOp(mlir::Operation *op);

/// Return types of the function follow its return op.
void updateReturnTypes(mlir::func::FuncOp func);

/// Erases ops whose results are unused, last first.
void eraseDead(mlir::func::FuncOp func);

/// Constant of these elements, a splat when all are equal.
mlir::DenseElementsAttr compactElements(const graph::HostTensor &tensor);

/// Rules on weight references: they change type, offset or the flags of a matmul, never bytes.
void addWeightPatterns(mlir::RewritePatternSet &patterns);

/// Gathers by constant indices that are slices or views.
void addConstantGatherPatterns(mlir::RewritePatternSet &patterns);

} // namespace gaudi::transforms
