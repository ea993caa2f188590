//===- ElementOps.h - pointwise ops on registers ----------------*- C++ -*-===//
//
// What one element (or a vector of them) becomes, whatever loop it stands in. Registers hold f32 for 16-bit floats, i1
// for bool, else the stored element; unsigned integers are signless, so their signedness comes with `element`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include "mlir/IR/Builders.h"

namespace gaudi::cpu {

/// Register type of an element; a vector when width > 1.
mlir::Type registerType(mlir::Type element, int64_t width);
/// Type of an element in memory: bool as i8, signless integers.
mlir::Type storedType(mlir::Type element);

/// Memory register (vector) -> computing register, and back.
mlir::Value emitWiden(mlir::OpBuilder &b, mlir::Location loc, mlir::Value stored, mlir::Type element);
mlir::Value emitNarrow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type element);

/// `element` is that of the operand (of the left one for binary kinds, with `rhsElement` for pow).
mlir::Value emitElementUnary(mlir::OpBuilder &b, mlir::Location loc, graph::UnaryKind kind, mlir::Value x,
                             mlir::Type element);
mlir::Value emitElementBinary(mlir::OpBuilder &b, mlir::Location loc, graph::BinaryKind kind, mlir::Value x,
                              mlir::Value y, mlir::Type element, mlir::Type rhsElement);
mlir::Value emitElementCast(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Type from, mlir::Type to);

/// Accumulation step, start and end of a reduction over elements of type `element`.
mlir::Value emitReduceStep(mlir::OpBuilder &b, mlir::Location loc, graph::ReduceKind kind, mlir::Value acc,
                           mlir::Value x, mlir::Type element);
mlir::TypedAttr reduceIdentity(graph::ReduceKind kind, mlir::Type element);
mlir::Value emitReduceEnd(mlir::OpBuilder &b, mlir::Location loc, graph::ReduceKind kind, mlir::Value acc,
                          int64_t count, mlir::Type element);

/// A number as a register of `type` (scalar or vector, float or integer).
mlir::Value emitNumber(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, double value);
mlir::Value emitConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Attribute scalar);
mlir::Value emitSplat(mlir::OpBuilder &b, mlir::Location loc, mlir::Value scalar, int64_t width);

} // namespace gaudi::cpu
