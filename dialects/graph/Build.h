//===- Build.h - terse construction of graph ops ---------------*- C++ -*-===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/Locations.h"

namespace gaudi::graph {

/// Builds graph ops at one location; result types are inferred. They are steps on the way to some result, so they do
/// not carry its value name (Locations.h). Used by decompositions, import rules and patterns.
class Build {
public:
  Build(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(withoutValueName(loc)) {}

  mlir::Value unary(UnaryKind kind, mlir::Value x) { return create<UnaryOp>(kind, x); }
  mlir::Value binary(BinaryKind kind, mlir::Value x, mlir::Value y) { return create<BinaryOp>(kind, x, y); }
  /// keepdims, one or several sorted axes.
  mlir::Value reduce(ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> axes) {
    return create<ReduceOp>(kind, x, axes, /*keepdims=*/true);
  }
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation) {
    return create<TransposeOp>(x, permutation);
  }
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape) { return ReshapeOp::create(b, loc, x, shape); }
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y) { return create<SelectOp>(c, x, y); }
  mlir::Value cast(mlir::Value x, mlir::Type type) {
    if (llvm::cast<mlir::RankedTensorType>(x.getType()).getElementType() == type)
      return x;
    return create<CastOp>(x, type);
  }
  /// 16-bit floats to fp32; fp32 and fp64 stay.
  mlir::Value toF32(mlir::Value x) {
    auto element = llvm::cast<mlir::RankedTensorType>(x.getType()).getElementType();
    return element.isF16() || element.isBF16() ? cast(x, b.getF32Type()) : x;
  }
  mlir::Value constant(mlir::TypedAttr value) { return ConstantOp::create(b, loc, value); }
  /// Rank-0 constant of a float or integer type.
  mlir::Value scalar(double value, mlir::Type type) {
    auto tensor = mlir::RankedTensorType::get({}, type);
    if (llvm::isa<mlir::FloatType>(type))
      return constant(mlir::DenseElementsAttr::get(tensor, b.getFloatAttr(type, value)));
    return constant(mlir::DenseElementsAttr::get(
        tensor,
        llvm::APInt(type.getIntOrFloatBitWidth(), static_cast<uint64_t>(static_cast<int64_t>(value)), true, true)));
  }
  mlir::Value ints(llvm::ArrayRef<int64_t> values) {
    return constant(mlir::DenseElementsAttr::get(
        mlir::RankedTensorType::get({static_cast<int64_t>(values.size())}, b.getI64Type()), values));
  }

  template <typename OpT, typename... Args> mlir::Value create(Args &&...args) {
    return OpT::create(b, loc, std::forward<Args>(args)...)->getResult(0);
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace gaudi::graph
