//===- Passes.td - passes over the graph dialect --------------------------===//
//
// What each pass does and promises. Their order is stated in Pipelines.cpp only. Every pass is deterministic and
// idempotent, and bounded: iteration caps are constants beside the loops they bound.
//
//===----------------------------------------------------------------------===//
#ifndef GAUDI_TRANSFORMS_PASSES
#define GAUDI_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

class GraphPass<string name> : Pass<name, "::mlir::func::FuncOp"> {
  let dependentDialects = ["::gaudi::graph::GraphDialect"];
}

def SpecializeShapes : GraphPass<"specialize-shapes"> {
  let summary = "set argument shapes, re-infer every type, fold the shape arithmetic";
  let description = [{ Arguments are named by their `graph.name` attribute, or `argN`. One forward sweep: shape operands
    that became constant turn into attributes, result types are inferred again, and integer ops on constants are
    evaluated, so that chains such as Shape -> Gather -> Concat -> Reshape vanish. }];
  let options = [
    ListOption<"shapes", "shapes", "std::string", "argument shapes, `name=2x7` (no dims: `name=`)">,
  ];
}

def FoldConstants : GraphPass<"fold-constants"> {
  let summary = "evaluate ops on constants; re-type, slice and flag weight references";
  let description = [{ Limits: 16 MiB per integer result; floats only up to 4 KiB or not larger than the inputs; splats
    stay splats. Weight bytes are never read: reshape and contiguous slice or gather re-type the reference, a transpose
    that feeds matmuls only becomes their flag. }];
}

def Simplify : GraphPass<"simplify"> {
  let summary = "CSE, canonicalisation and exact algebraic clean-up of the graph";
  let options = [
    Option<"fastMath", "fast-math", "bool", "false", "also rewrites that round differently: (x*c1)*c2, x/c">,
  ];
}

def RecomposeNorms : GraphPass<"recompose-norms"> {
  let summary = "LayerNorm and RMSNorm spelled out in primitives -> graph.layer_norm, graph.rms_norm";
}

def RecomposeActivations : GraphPass<"recompose-activations"> {
  let summary = "GELU (erf and tanh) and SiLU spelled out in primitives -> unary kinds";
}

def RecomposeSoftmax : GraphPass<"recompose-softmax"> {
  let summary = "exp(x - max) / sum -> graph.softmax";
}

def RecomposeAttention : GraphPass<"recompose-attention"> {
  let summary = "matmul - scale - mask - softmax - matmul -> graph.attention, by structure";
  let description = [{ Also absorbs the head split and merge around it (and around attentions that came from import), so
    that the op works in the layout `[B, S, H, D]` and no transpose is executed. }];
}

def DecomposeComposites : GraphPass<"decompose-composites"> {
  let summary = "rewrite composites as primitives (GraphOpInterface::decompose), inside groups too";
  let options = [ListOption<"only", "only", "std::string", "op mnemonics; all composites when empty">];
}

def FormGroups : GraphPass<"form-groups"> {
  let summary = "wrap everything that computes into graph.group, one kernel each";
  let description = [{ Kinds: matmul, batch_matmul, attention, rows, pointwise, generic. Constants stay outside and become
    operands, but scalars and splats of at most 16 elements are cloned into the body. Reshapes stay outside as views. }];
  let options = [Option<"eachOp", "each-op", "bool", "false", "one group per op, nothing fused or rewritten (device ref)">];
}

def PrintGroups : Pass<"print-groups", "::mlir::ModuleOp"> {
  let summary = "print how many groups of each kind there are, and how many different kernels they need";
}

def VerifyStage : GraphPass<"verify-stage"> {
  let summary = "check which ops may appear at a stage: graph, static or grouped";
  let options = [Option<"stage", "stage", "std::string", "\"graph\"", "graph | static | grouped">];
}

#endif
