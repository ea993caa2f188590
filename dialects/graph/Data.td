//===- Data.td - constants, generators, gathers and scatters --------------===//
#ifndef GAUDI_GRAPH_DATA
#define GAUDI_GRAPH_DATA

include "dialects/graph/GraphBase.td"

def Graph_ConstantOp : Graph_InferredOp<"constant", [ConstantLike]> {
  let summary = "constant tensor: dense elements, or a weight by reference";
  let description = [{ `value` is a dense elements attribute (at most 4 KiB, or a splat of any size, or folded shape
    arithmetic) or `#graph.weight`. }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
  let assemblyFormat = "attr-dict $value";
  let extraClassDeclaration = [{
    /// The reference, or null for dense elements.
    ::gaudi::graph::WeightAttr getWeight() { return ::llvm::dyn_cast<::gaudi::graph::WeightAttr>(getValue()); }
  }];
}

def Graph_FillOp : Graph_InferredOp<"fill"> {
  let summary = "tensor of a run-time shape, every element `value` (ONNX ConstantOfShape)";
  let arguments = (ins Graph_ShapeTensor:$shape, TypedAttrInterface:$value); // value: 1-element elements attr
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$shape attr-dict `:` type($shape) `->` type($result)";
}

def Graph_RangeOp : Graph_InferredOp<"range"> {
  let summary = "start, start+delta, ... below limit; all rank 0 of one type";
  let arguments = (ins Graph_Tensor:$start, Graph_Tensor:$limit, Graph_Tensor:$delta);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$start `,` $limit `,` $delta attr-dict `:` type($start) `,` type($limit) `,` type($delta) `->` type($result)";
}

def Graph_GatherOp : Graph_InferredOp<"gather"> {
  let summary = "result = take(data, indices) along an axis (ONNX Gather)";
  let description = [{ `[d0..d(axis-1), indices..., d(axis+1)..]`. Negative indices count from the end; one outside
    [-n, n) is a compile error when constant, fault IndexOutOfRange at run time. }];
  let arguments = (ins Graph_Tensor:$data, Graph_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` type($data) `,` type($indices) `->` type($result)";
}

def Graph_GatherElementsOp : Graph_InferredOp<"gather_elements"> {
  let summary = "result[i..] = data[.., indices[i..] at axis, ..] (ONNX GatherElements)";
  let arguments = (ins Graph_Tensor:$data, Graph_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` type($data) `,` type($indices) `->` type($result)";
}

def Graph_GatherNDOp : Graph_InferredOp<"gather_nd"> {
  let summary = "slices addressed by index tuples (ONNX GatherND)";
  let arguments = (ins Graph_Tensor:$data, Graph_IndexTensor:$indices, DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$data `,` $indices attr-dict `:` type($data) `,` type($indices) `->` type($result)";
}

def Graph_ScatterNDOp : Graph_InferredOp<"scatter_nd"> {
  let summary = "copy of data with slices replaced (ONNX ScatterND, reduction none)";
  let description = [{ Index tuples must be distinct (ONNX leaves the order of duplicates open; the last one wins here). }];
  let arguments = (ins Graph_Tensor:$data, Graph_IndexTensor:$indices, Graph_Tensor:$updates);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$data `,` $indices `,` $updates attr-dict `:` type($data) `,` type($indices) `,` type($updates) `->` type($result)";
}

def Graph_TriluOp : Graph_InferredOp<"trilu"> {
  let summary = "upper or lower triangle of the last two dims, the rest zero";
  let description = [{ Keeps `j >= i + k` (upper) or `j <= i + k`. }];
  let arguments = (ins Graph_Tensor:$input, I64Attr:$k, UnitAttr:$upper);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Graph_CumSumOp : Graph_InferredOp<"cumsum"> {
  let summary = "running sum along an axis";
  let arguments = (ins Graph_Tensor:$input, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

#endif
