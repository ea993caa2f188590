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

/// "4x?x8" for messages ("scalar" for rank 0).
std::string dimsText(llvm::ArrayRef<int64_t> dims);
/// "[4, -1, 8]" for messages.
std::string listText(llvm::ArrayRef<int64_t> values);

/// Both known and different.
inline bool differ(int64_t a, int64_t b) { return a != b && a != kDynamic && b != kDynamic; }

/// Values of an integer graph.constant (any rank, row-major); nullopt if not a dense constant.
std::optional<Dims> constantInts(mlir::Value value);

/// Largest product of dims that the compiler accepts: element counts times 8 bytes stay in int64, whatever is zero.
inline constexpr int64_t kMaxElements = int64_t(1) << 59;

/// Product of the dims; nullopt when a dim is dynamic or the product of the non-zero ones passes kMaxElements.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> dims);

/// Fails unless the static dims are >= 0 and their product stays within kMaxElements.
mlir::LogicalResult checkDims(OptionalLoc loc, llvm::ArrayRef<int64_t> dims);

/// Ends an inference: checks the dims and appends the tensor type.
mlir::LogicalResult addResult(OptionalLoc loc, llvm::ArrayRef<int64_t> dims, mlir::Type element,
                              llvm::SmallVectorImpl<mlir::Type> &results);

/// Numpy broadcasting of two shapes. A dynamic dim against 1 or another dynamic stays dynamic, against n > 1 gives n.
mlir::LogicalResult broadcastDims(OptionalLoc loc, llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b, Dims &out);

/// Fails unless `shape` broadcasts to `target` without enlarging it; `what` names it in the message.
mlir::LogicalResult checkBroadcastsTo(OptionalLoc loc, llvm::StringRef what, llvm::ArrayRef<int64_t> shape,
                                      llvm::ArrayRef<int64_t> target);

/// Fails unless `axis` is in [0, rank).
mlir::LogicalResult checkAxis(OptionalLoc loc, int64_t axis, int64_t rank);

/// Fails unless exactly one of a shape operand and its attribute, both named `what`, is there.
mlir::LogicalResult checkEither(OptionalLoc loc, llvm::StringRef what, mlir::Value operand, bool hasAttr);

/// The attribute's values, else the operand's if constant.
std::optional<Dims> attrOrConstant(std::optional<llvm::ArrayRef<int64_t>> attr, mlir::Value operand);

/// The shape that a broadcast or reshape asks for: as attrOrConstant, dynamic dims where it is not known yet. Fails if
/// not even the rank is known.
mlir::FailureOr<Dims> wantedShape(OptionalLoc loc, std::optional<llvm::ArrayRef<int64_t>> attr, mlir::Value operand);

} // namespace gaudi::graph
