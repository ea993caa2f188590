//===- HostTensor.h - concrete tensor values of the reference evaluator ---===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <variant>
#include <vector>

namespace gaudi::graph {

/// A row-major tensor value in the evaluator's precision: float types as double, integers and bool as int64 (ui64 wraps
/// into it). Values are always representable in `elementType` (see round()).
struct HostTensor {
  llvm::SmallVector<int64_t> shape;
  mlir::Type elementType;
  std::variant<std::vector<double>, std::vector<int64_t>> data;

  bool isFloat() const { return std::holds_alternative<std::vector<double>>(data); }
  std::vector<double> &floats() { return std::get<0>(data); }
  const std::vector<double> &floats() const { return std::get<0>(data); }
  std::vector<int64_t> &ints() { return std::get<1>(data); }
  const std::vector<int64_t> &ints() const { return std::get<1>(data); }
  int64_t elementCount() const;

  /// The element as a double, ui64 as the unsigned number it stands for.
  double asDouble(int64_t i) const {
    if (isFloat())
      return floats()[i];
    return elementType.isUnsignedInteger(64) ? static_cast<double>(static_cast<uint64_t>(ints()[i]))
                                             : static_cast<double>(ints()[i]);
  }

  /// Zero-filled tensor of the type; shape must be static.
  static HostTensor zeros(mlir::RankedTensorType type);
  /// From dense elements. Splats are expanded.
  static HostTensor fromElements(mlir::ElementsAttr attr);
  /// From little-endian row-major bytes, exactly the type's size.
  static HostTensor fromBytes(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes);
  /// Little-endian row-major bytes.
  std::vector<char> toBytes() const;
  /// Dense elements, a splat when all are equal bit by bit.
  mlir::DenseElementsAttr toElements() const;
  mlir::RankedTensorType type() const;
  /// Rounds every element to `elementType` (fp32, fp16, bf16: nearest even; integers: wrap).
  void round();
};

/// Float to integer as graph.cast does it: toward zero, saturating, NaN -> 0; i1 is x != 0.
int64_t saturate(double x, mlir::Type type);

/// Work of an op, see GraphOpInterface::cost.
struct Cost {
  double flops = 0;
  double bytes = 0;
};

/// Elementwise-like default: one flop per result element, operands read and results written once.
Cost defaultCost(mlir::Operation *op);

/// Declared result types may refine inferred ones (more static dims), never contradict them.
bool compatibleTypes(mlir::TypeRange inferred, mlir::TypeRange declared);

} // namespace gaudi::graph
