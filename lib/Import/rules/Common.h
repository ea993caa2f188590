//===- Common.h - pieces that several families of rules use -----*- C++ -*-===//
#pragma once

#include "lib/Import/Node.h"

namespace gaudi::import {

/// [d0, ..., dn) -> [d0 * ... * d(axis-1), d(axis) * ...]: Flatten, and the coercion of Softmax before opset 13.
mlir::Value flatten2D(Node &node, mlir::Value x, int64_t axis);

/// Axes [first, rank).
llvm::SmallVector<int64_t> axesFrom(int64_t first, int64_t rank);

/// lhs @ rhs with ONNX MatMul's rules for vectors.
mlir::Value matmulAnyRank(Node &node, mlir::Value lhs, mlir::Value rhs);

/// LayerNormalization's second and third results over dims [axis, rank): mean and 1 / sqrt(var + epsilon), in fp32.
std::pair<mlir::Value, mlir::Value> normStatistics(Node &node, mlir::Value x, int64_t axis, double epsilon);

} // namespace gaudi::import
