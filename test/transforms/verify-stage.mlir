// Each stage names the first op that may not be there.
// RUN: gaudi-opt %s --split-input-file --verify-diagnostics --verify-stage="stage=grouped"

func.func @grouped(%x: tensor<3x5xf32>) -> tensor<15xf32> {
  %g = graph.group "pointwise"(%x) : (tensor<3x5xf32>) -> tensor<3x5xf32> {
  ^bb0(%a: tensor<3x5xf32>):
    %s = graph.unary exp %a : tensor<3x5xf32> -> tensor<3x5xf32>
    graph.yield %s : tensor<3x5xf32>
  }
  %v = graph.reshape %g {shape = array<i64: 15>} : tensor<3x5xf32> -> tensor<15xf32>
  return %v : tensor<15xf32>
}

// -----

func.func @outside(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // expected-error @+1 {{op 'graph.unary' is outside of a group at stage 'grouped'}}
  %s = graph.unary exp %x : tensor<3x5xf32> -> tensor<3x5xf32>
  return %s : tensor<3x5xf32>
}

// -----

func.func @dynamic(%x: tensor<3x?xf32>, %s: tensor<1xi64>) -> tensor<?xf32> {
  // expected-error @+1 {{stage 'grouped' needs static shapes (found 'tensor<?xf32>')}}
  %v = graph.reshape %x shape(%s : tensor<1xi64>) : tensor<3x?xf32> -> tensor<?xf32>
  return %v : tensor<?xf32>
}
