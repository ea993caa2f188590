//===- Elementwise.td - the table of pointwise kinds ---------------------===//
//
// A pointwise operation is a ROW here, not an op: shape rule, verification, evaluation (Elementwise.cpp: one expression
// per row) and code on every target follow from the kind. Integer kinds work in int64 with wrap-around.
//
//===----------------------------------------------------------------------===//
#ifndef GAUDI_GRAPH_ELEMENTWISE
#define GAUDI_GRAPH_ELEMENTWISE

include "dialects/graph/GraphBase.td"

class Row<string sym, int n> : I32EnumAttrCase<sym, n, sym>;

def Graph_UnaryKind : Graph_Enum<"UnaryKind", [
  Row<"neg", 0>, Row<"abs", 1>, Row<"sqrt", 2>, Row<"rsqrt", 3>, Row<"reciprocal", 4>,
  Row<"exp", 5>, Row<"log", 6>, Row<"sin", 7>, Row<"cos", 8>, Row<"tanh", 9>, Row<"sigmoid", 10>, Row<"erf", 11>,
  Row<"relu", 12>, Row<"floor", 13>, Row<"ceil", 14>,
  Row<"round", 15>,      // half to even
  Row<"sign", 16>,
  Row<"logical_not", 17>, Row<"is_nan", 18>, Row<"is_inf", 19>,   // result i1
  Row<"gelu", 20>,       // x/2 (1 + erf(x/sqrt 2))
  Row<"gelu_tanh", 21>,  // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  Row<"silu", 22>,       // x sigmoid(x)
  Row<"softplus", 23>,
]>;
def Graph_UnaryKindAttr : Graph_EnumAttr<Graph_UnaryKind, "unary_kind">;

def Graph_BinaryKind : Graph_Enum<"BinaryKind", [
  Row<"add", 0>, Row<"sub", 1>, Row<"mul", 2>,
  Row<"div", 3>,         // integers: toward zero, x/0 = 0
  Row<"pow", 4>,         // result has lhs' type
  Row<"mod", 5>,         // integers: sign of the divisor (ONNX Mod fmod=0)
  Row<"fmod", 6>,        // sign of the dividend
  Row<"min", 7>, Row<"max", 8>,   // NaN if either is NaN
  Row<"logical_and", 9>, Row<"logical_or", 10>, Row<"logical_xor", 11>,
  Row<"eq", 12>, Row<"lt", 13>, Row<"le", 14>, Row<"gt", 15>, Row<"ge", 16>,   // result i1
  Row<"bit_and", 17>, Row<"bit_or", 18>, Row<"bit_xor", 19>,
]>;
def Graph_BinaryKindAttr : Graph_EnumAttr<Graph_BinaryKind, "binary_kind">;

def Graph_UnaryOp : Graph_InferredOp<"unary"> {
  let summary = "pointwise function of one tensor";
  let description = [{ `result[i] = kind(input[i])`. C1: float kinds want a float element type, `logical_not` i1.
    Example: `%y = graph.unary gelu %x : tensor<4x8xf32>` }];
  let arguments = (ins Graph_UnaryKindAttr:$kind, Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "`` $kind $input attr-dict `:` type($input) `->` type($result)";
}

def Graph_BinaryOp : Graph_InferredOp<"binary"> {
  let summary = "pointwise function of two tensors, numpy broadcasting";
  let description = [{ `result[i] = kind(lhs[i], rhs[i])` after numpy broadcasting. C1: equal element types (`pow`: any
    exponent type; computed in fp64 when one side is a float). C2: shapes broadcast together. C3: logical kinds want i1, bit
    kinds and `mod` integers, arithmetic no i1. }];
  let arguments = (ins Graph_BinaryKindAttr:$kind, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_Tensor:$result);
  let hasCanonicalizer = 1;
  let assemblyFormat = "`` $kind $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

def Graph_SelectOp : Graph_InferredOp<"select"> {
  let summary = "condition ? onTrue : onFalse, numpy broadcasting over all three";
  let arguments = (ins Graph_BoolTensor:$condition, Graph_Tensor:$onTrue, Graph_Tensor:$onFalse);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{ $condition `,` $onTrue `,` $onFalse attr-dict `:` type($condition) `,` type($onTrue) `,`
                          type($onFalse) `->` type($result) }];
}

def Graph_CastOp : Graph_InferredOp<"cast"> {
  let summary = "element type conversion";
  let description = [{ Float to narrower float rounds to nearest even; float to integer truncates toward zero,
    saturates, and maps NaN to 0; anything to i1 is `x != 0`. Cast to the same type folds away. }];
  let arguments = (ins Graph_Tensor:$input, TypeAttr:$to);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

#endif
