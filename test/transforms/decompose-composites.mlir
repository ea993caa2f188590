// Composites become primitives, all or only the named ones, also inside groups.
// RUN: gaudi-opt %s --decompose-composites | FileCheck %s --check-prefix=ALL
// RUN: gaudi-opt %s --decompose-composites="only=softmax" | FileCheck %s --check-prefix=ONE

// ALL-LABEL: func.func @two
// ONE-LABEL: func.func @two
func.func @two(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // ALL-NOT: graph.softmax
  // ALL-NOT: graph.rms_norm
  // ONE-NOT: graph.softmax
  // ONE: graph.unary exp
  // ONE: graph.rms_norm
  %s = graph.softmax %x {axis = 1 : i64} : tensor<3x5xf32> -> tensor<3x5xf32>
  %n = graph.rms_norm %s {axis = 1 : i64, epsilon = 0.5 : f64} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %n : tensor<3x5xf32>
}

// ALL-LABEL: func.func @in_a_group
func.func @in_a_group(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // ALL: graph.group "rows"
  // ALL-NOT: graph.softmax
  // ALL: graph.reduce max
  %g = graph.group "rows"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %s = graph.softmax %a {axis = 1 : i64} : tensor<3x5xf32> -> tensor<3x5xf32>
    graph.yield %s : tensor<3x5xf32>
  }
  return %g : tensor<3x5xf32>
}
