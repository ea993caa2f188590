//===- Interfaces.td - what every graph op implements --------------------===//
#ifndef GAUDI_GRAPH_INTERFACES
#define GAUDI_GRAPH_INTERFACES

include "mlir/IR/OpBase.td"

def GraphOpInterface : OpInterface<"GraphOpInterface"> {
  let cppNamespace = "::gaudi::graph";
  let description = [{
    Meaning of an op, in three independent forms that tests hold against each other: a reference evaluation, a
    decomposition to simpler ops, and a cost. Shape inference and verification are `InferTypeOpInterface`.
  }];
  let methods = [
    InterfaceMethod<[{
      Computes the results from concrete operand values in fp64 (floats) and int64 (integers), rounding to the result's
      element type at the end. `operands` has one entry per operand. Is the constant folder, the per-op oracle and
      device `ref`. Fails with a diagnostic on the op when the values are invalid (an index out of range).
    }], "::llvm::LogicalResult", "evaluate",
      (ins "::llvm::ArrayRef<::gaudi::graph::HostTensor>":$operands,
           "::llvm::SmallVectorImpl<::gaudi::graph::HostTensor> &":$results)>,
    InterfaceMethod<[{
      Rewrites the op as simpler graph ops built at `builder`'s insertion point and returns one value per result.
      Composites must implement it (it makes them correct on every target); primitives return failure without a
      diagnostic.
    }], "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose",
      (ins "::mlir::OpBuilder &":$builder), [{}], [{ return ::mlir::failure(); }]>,
    InterfaceMethod<[{
      Floating-point operations and bytes that must be moved at least once (operands read, results written).
      Only for static shapes.
    }], "::gaudi::graph::Cost", "cost", (ins), [{}],
      [{ return ::gaudi::graph::defaultCost($_op.getOperation()); }]>,
  ];
}

#endif
