//===- Shape.td - ops that move or reinterpret elements -------------------===//
//
// An op that takes a run-time shape or bound has it as an optional operand and, once known, as an attribute: exactly one
// of the two is present. `specialize-shapes` turns operands into attributes; targets see attributes only.
//
//===----------------------------------------------------------------------===//
#ifndef GAUDI_GRAPH_SHAPE
#define GAUDI_GRAPH_SHAPE

include "dialects/graph/GraphBase.td"

def Graph_ShapeOfOp : Graph_InferredOp<"shape_of"> {
  let summary = "dims [start, end) of a tensor as tensor<nxi64>";
  let description = [{ Negative bounds count from the end and are clamped (ONNX Shape-15). Without `end`: up to the rank.
    Folds when the dims asked for are static. }];
  let arguments = (ins Graph_Tensor:$input, DefaultValuedAttr<I64Attr, "0">:$start, OptionalAttr<I64Attr>:$end);
  let results = (outs Graph_ShapeTensor:$result);
  let hasFolder = 1;
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Graph_ReshapeOp : Graph_InferredOp<"reshape"> {
  let summary = "same elements in row-major order, other shape";
  let description = [{ ONNX Reshape: one dim may be -1 (deduced), 0 copies the input's dim unless `allowzero`. C1: element
    counts equal. }];
  let arguments = (ins Graph_Tensor:$input, Optional<Graph_ShapeTensor>:$shape_operand,
                       OptionalAttr<DenseI64ArrayAttr>:$shape, UnitAttr:$allowzero);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$shape)>];
  let assemblyFormat = [{ $input (`shape` `(` $shape_operand^ `:` type($shape_operand) `)`)? attr-dict `:` type($input) `->` type($result) }];
}

def Graph_SqueezeOp : Graph_InferredOp<"squeeze"> {
  let summary = "removes unit dims; without axes all of them";
  let arguments = (ins Graph_Tensor:$input, OptionalAttr<DenseI64ArrayAttr>:$axes);
  let results = (outs Graph_Tensor:$result);
  let hasCanonicalizer = 1; // static: reshape
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Graph_UnsqueezeOp : Graph_InferredOp<"unsqueeze"> {
  let summary = "inserts unit dims at `axes` of the result";
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$axes);
  let results = (outs Graph_Tensor:$result);
  let hasCanonicalizer = 1; // static: reshape
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Graph_TransposeOp : Graph_InferredOp<"transpose"> {
  let summary = "result dim i is input dim permutation[i]";
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;        // identity
  let hasCanonicalizer = 1; // transpose of transpose; moves unit dims only: reshape
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Graph_BroadcastOp : Graph_InferredOp<"broadcast"> {
  let summary = "numpy broadcast against a shape, both ways (ONNX Expand)";
  let arguments = (ins Graph_Tensor:$input, Optional<Graph_ShapeTensor>:$shape_operand,
                       OptionalAttr<DenseI64ArrayAttr>:$shape);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
  let hasCanonicalizer = 1; // constant shape operand: attribute
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$shape)>];
  let assemblyFormat = [{ $input (`shape` `(` $shape_operand^ `:` type($shape_operand) `)`)? attr-dict `:` type($input) `->` type($result) }];
}

def Graph_SliceOp : Graph_InferredOp<"slice", [AttrSizedOperandSegments]> {
  let summary = "strided sub-range along some axes (ONNX Slice)";
  let description = [{ Bounds as in ONNX Slice-13: negative counts from the end, clamped, negative steps walk backwards;
    INT64_MIN/MAX mean "to the border". The attribute form after specialisation has the same meaning. C1: step != 0.
    C2: starts, ends, steps and axes have equal length. }];
  let arguments = (ins Graph_Tensor:$input,
                       Optional<Graph_ShapeTensor>:$starts_operand, Optional<Graph_ShapeTensor>:$ends_operand,
                       Optional<Graph_ShapeTensor>:$steps_operand,
                       OptionalAttr<DenseI64ArrayAttr>:$starts, OptionalAttr<DenseI64ArrayAttr>:$ends,
                       OptionalAttr<DenseI64ArrayAttr>:$steps, DenseI64ArrayAttr:$axes);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
  let hasCanonicalizer = 1; // constant bounds: attributes
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$starts,
    "::llvm::ArrayRef<int64_t>":$ends, "::llvm::ArrayRef<int64_t>":$steps, "::llvm::ArrayRef<int64_t>":$axes)>];
  let assemblyFormat = [{ $input (`starts` `(` $starts_operand^ `:` type($starts_operand) `)`)?
    (`ends` `(` $ends_operand^ `:` type($ends_operand) `)`)? (`steps` `(` $steps_operand^ `:` type($steps_operand) `)`)?
    attr-dict `:` type($input) `->` type($result) }];
}

def Graph_ConcatOp : Graph_InferredOp<"concat"> {
  let summary = "joins tensors along an axis";
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1; // one input
  let assemblyFormat = "$inputs attr-dict `:` type($inputs) `->` type($result)";
}

def Graph_PadOp : Graph_InferredOp<"pad", [AttrSizedOperandSegments]> {
  let summary = "constant padding; negative pads crop";
  let description = [{ `pads` = [begin of every dim..., end of every dim...]. Filled with `value` (rank 0) or zero. }];
  let arguments = (ins Graph_Tensor:$input, Optional<Graph_ShapeTensor>:$pads_operand, Optional<Graph_Tensor>:$value,
                       OptionalAttr<DenseI64ArrayAttr>:$pads);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;        // no padding
  let hasCanonicalizer = 1; // constant pads operand: attribute
  let assemblyFormat = [{ $input (`pads` `(` $pads_operand^ `:` type($pads_operand) `)`)? (`value` `(` $value^ `:` type($value) `)`)?
    attr-dict `:` type($input) `->` type($result) }];
}

#endif
