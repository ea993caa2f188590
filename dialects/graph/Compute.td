//===- Compute.td - contractions, reductions, norms, attention, groups ----===//
#ifndef GAUDI_GRAPH_COMPUTE
#define GAUDI_GRAPH_COMPUTE

include "dialects/graph/GraphBase.td"

def Graph_MatMulOp : Graph_InferredOp<"matmul", [], ["evaluate", "cost"]> {
  let summary = "batched matrix product with numpy broadcasting of the batch dims";
  let description = [{ lhs `[..., M, K]` (or `[..., K, M]` with transpose_lhs), rhs `[..., K, N]` (`[..., N, K]` with
    transpose_rhs), result `[..., M, N]`. Rank >= 2 on both sides (import unsqueezes vectors). Accumulates 16-bit types
    in fp32. C1: equal element types. C2: equal K. C3: batch dims broadcast. }];
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

def Graph_ReduceKind : Graph_Enum<"ReduceKind", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"mean", 1>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>,
  I32EnumAttrCase<"prod", 4>, I32EnumAttrCase<"sumsq", 5>]>;
def Graph_ReduceKindAttr : Graph_EnumAttr<Graph_ReduceKind, "reduce_kind">;

def Graph_ReduceOp : Graph_InferredOp<"reduce"> {
  let summary = "reduction over `axes` (sorted, non-negative, not empty)";
  let description = [{ Without `keepdims` the axes vanish. Empty ranges give the identity (max: -inf or the lowest value;
    mean: NaN, integers 0). Integers wrap, their mean truncates; i1 takes max and min only. 16-bit floats accumulate in fp32. max and min propagate NaN. }];
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_Tensor:$input, DenseI64ArrayAttr:$axes, UnitAttr:$keepdims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "`` $kind $input attr-dict `:` type($input) `->` type($result)";
}

def Graph_ArgReduceOp : Graph_InferredOp<"arg_reduce"> {
  let summary = "index (i64) of the largest or smallest element along an axis";
  let description = [{ First one wins, or the last with `select_last`. NaN is more extreme than any number, for both
    directions (numpy). An axis without elements is an error. }];
  let arguments = (ins Graph_Tensor:$input, I64Attr:$axis, UnitAttr:$keepdims, UnitAttr:$min, UnitAttr:$select_last);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

/// Composites: one definition of `decompose` makes them correct on every target.
class Graph_Composite<string mnemonic, list<Trait> traits = []> : Graph_InferredOp<mnemonic, traits,
    ["evaluate", "decompose", "cost"]>;

def Graph_SoftmaxOp : Graph_Composite<"softmax"> {
  let summary = "exp(x - max) / sum along one axis, statistics in fp32";
  let arguments = (ins Graph_FloatTensor:$input, I64Attr:$axis, UnitAttr:$log);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Graph_LayerNormOp : Graph_Composite<"layer_norm", [AttrSizedOperandSegments]> {
  let summary = "(x - mean) / sqrt(var + epsilon) * scale + bias over dims [axis, rank)";
  let description = [{ Statistics in fp32. `scale`, `bias`: shape of the normalised dims, or broadcastable to it.
    ONNX LayerNormalization-17 with stash_type 1. }];
  let arguments = (ins Graph_FloatTensor:$input, Optional<Graph_FloatTensor>:$scale, Optional<Graph_FloatTensor>:$bias,
                       I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{ $input (`scale` `(` $scale^ `:` type($scale) `)`)? (`bias` `(` $bias^ `:` type($bias) `)`)?
    attr-dict `:` type($input) `->` type($result) }];
}

def Graph_RmsNormOp : Graph_Composite<"rms_norm"> {
  let summary = "x / sqrt(mean(x^2) + epsilon) * scale over dims [axis, rank)";
  let arguments = (ins Graph_FloatTensor:$input, Optional<Graph_FloatTensor>:$scale, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input (`scale` `(` $scale^ `:` type($scale) `)`)? attr-dict `:` type($input) `->` type($result)";
}

def Graph_AttentionOp : Graph_Composite<"attention"> {
  let summary = "softmax(scale Q K^T + mask) V, never materialised when large";
  let description = [{
    Layout `heads_first`: q `[B, H, Sq, D]`, k `[B, Hkv, Skv, D]`, v `[B, Hkv, Skv, Dv]`, result `[B, H, Sq, Dv]`;
    otherwise q `[B, Sq, H, D]`, k `[B, Skv, Hkv, D]`, v `[B, Skv, Hkv, Dv]`, result `[B, Sq, H, Dv]`. H is a multiple of
    Hkv. `mask` broadcasts to `[B, H, Sq, Skv]`: float = added to the scaled scores, i1 = true means attend (false =
    -inf). `causal`: query i sees keys j <= i + (Skv - Sq) when `bottom_right`, else j <= i. A row with nothing to
    attend to is NaN, or zero with `zero_masked_rows` (ONNX Attention-23/24); without any key (Skv = 0) it is zero. Scores
    and softmax in fp32. C1: equal element types of q, k, v; mask i1, fp32 or the same. C2: B, Hkv, Skv, D agree.
    C3: the mask does not enlarge the scores.
  }];
  let arguments = (ins Graph_FloatTensor:$query, Graph_FloatTensor:$key, Graph_FloatTensor:$value,
                       Optional<Graph_Tensor>:$mask, F64Attr:$scale, UnitAttr:$heads_first, UnitAttr:$causal,
                       UnitAttr:$bottom_right, UnitAttr:$zero_masked_rows);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{ $query `,` $key `,` $value (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict `:`
    type($query) `,` type($key) `,` type($value) `->` type($result) }];
}

def Graph_GroupOp : Graph_Op<"group", [IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "ops that become one kernel";
  let description = [{ Block arguments stand for the operands, `graph.yield` gives the results. `kind` names the emitter
    chosen by the target's claim (`matmul`, `attention`, `rows`, `pointwise` ...). Equal groups (same body and types)
    share a kernel. }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, StrAttr:$kind);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let assemblyFormat = "$kind `(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body";
}

def Graph_YieldOp : Op<Graph_Dialect, "yield", [Pure, Terminator, HasParent<"GroupOp">]> {
  let summary = "results of a group";
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif
