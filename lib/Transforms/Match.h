//===- Match.h - questions that several passes ask about values -----------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/Locations.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace gaudi::transforms {

inline mlir::RankedTensorType tensorType(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()); }
inline llvm::ArrayRef<int64_t> dimsOf(mlir::Value v) { return tensorType(v).getShape(); }
inline int64_t rankOf(mlir::Value v) { return tensorType(v).getRank(); }
inline mlir::Type elementOf(mlir::Value v) { return tensorType(v).getElementType(); }

/// Bytes of a static tensor in memory (i1 is a byte).
uint64_t byteSize(mlir::RankedTensorType type);

/// Value of a constant whose elements are all equal, whatever its shape.
std::optional<double> scalarOf(mlir::Value value);
bool isScalar(mlir::Value value, double expected);

/// The operand of a unary op of that kind, or null.
mlir::Value unaryInput(mlir::Value value, graph::UnaryKind kind);
graph::BinaryOp binaryOf(mlir::Value value, graph::BinaryKind kind);

/// `x kind c` with a scalar constant c; for commutative kinds (add, mul) also `c kind x`. Null when it is not that.
struct WithScalar {
  mlir::Value x;
  double c = 0;
  explicit operator bool() const { return bool(x); }
};
WithScalar withScalar(mlir::Value value, graph::BinaryKind kind);

/// `x * c` or `x / c`, as a factor on x. Null when it is neither.
WithScalar scaled(mlir::Value value);

/// Equal within what rounding a constant to `type` and writing it with five digits may change.
bool nearly(double found, double expected, mlir::Type type);

/// A product tree taken apart: scale * factors[0] * factors[1] * ... Small integer powers count as repeated factors.
/// `stop` is not taken apart further.
struct Product {
  double scale = 1;
  llvm::SmallVector<mlir::Value> factors;
};
Product productOf(mlir::Value value, mlir::Value stop = {});

/// Axes are exactly the trailing dims [first, rank); returns first.
std::optional<int64_t> trailingAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);

/// Unary, binary, select and cast: element i of the result needs element i of the (broadcast) operands only.
bool isElementwise(mlir::Operation *op);

/// Same shape, whatever the element type.
inline bool sameShape(mlir::Value a, mlir::Value b) { return dimsOf(a) == dimsOf(b); }

/// The values broadcast to `to` without widening it.
bool broadcastsTo(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

/// Location of `op` and the ops that define `others`: what a recomposition stands for.
mlir::Location fusedLocation(mlir::Operation *op, llvm::ArrayRef<mlir::Value> others);

/// Runs patterns greedily over `root` with the cap that all passes here share. True if it converged.
bool rewriteGreedily(mlir::Operation *root, mlir::RewritePatternSet &&patterns);

} // namespace gaudi::transforms
