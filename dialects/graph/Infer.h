//===- Infer.h - helpers of shape inference (private to dialects/graph) ---===//
#pragma once

#include "dialects/graph/Graph.h"

#include <optional>

namespace gaudi::graph {

inline constexpr int64_t kDynamic = mlir::ShapedType::kDynamic;

using OptionalLoc = std::optional<mlir::Location>;
using Dims = llvm::SmallVector<int64_t>;

inline mlir::RankedTensorType tensorType(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()); }
inline llvm::ArrayRef<int64_t> dimsOf(mlir::Value v) { return tensorType(v).getShape(); }
inline mlir::Type elementOf(mlir::Value v) { return tensorType(v).getElementType(); }

/// "4x?x8" for messages.
std::string dimsText(llvm::ArrayRef<int64_t> dims);

/// Values of an integer graph.constant (any rank, row-major); nullopt if not a dense constant.
std::optional<Dims> constantInts(mlir::Value value);

/// Product of static dims; nullopt when a dim is dynamic or the product passes 2^62.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> dims);

/// Numpy broadcasting of two shapes. A dynamic dim against 1 or another dynamic stays dynamic, against n > 1 gives n.
mlir::LogicalResult broadcastDims(OptionalLoc loc, llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b, Dims &out);

/// Fails unless `axis` is in [0, rank).
mlir::LogicalResult checkAxis(OptionalLoc loc, int64_t axis, int64_t rank);

/// The attribute's values, else the operand's if constant.
std::optional<Dims> attrOrConstant(std::optional<llvm::ArrayRef<int64_t>> attr, mlir::Value operand);

} // namespace gaudi::graph
