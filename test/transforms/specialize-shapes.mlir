// Argument shapes given by name make the shape arithmetic of exports vanish in one sweep.
// RUN: gaudi-opt %s --specialize-shapes="shapes=ids=2x5,x=2x5x12" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @torchscript_head_split
// CHECK-SAME:    (%[[X:.*]]: tensor<2x5x12xf32>
// CHECK-SAME:    -> tensor<2x5x3x4xf32>
func.func @torchscript_head_split(%x: tensor<?x?x12xf32> {graph.name = "x"}, %ids: tensor<?x?xi64> {graph.name = "ids"}) -> tensor<?x?x?x?xf32> {
  %s = graph.shape_of %ids : tensor<?x?xi64> -> tensor<2xi64>
  %i0 = graph.constant dense<0> : tensor<i64>
  %i1 = graph.constant dense<1> : tensor<i64>
  %b = graph.gather %s, %i0 {axis = 0 : i64} : tensor<2xi64>, tensor<i64> -> tensor<i64>
  %n = graph.gather %s, %i1 {axis = 0 : i64} : tensor<2xi64>, tensor<i64> -> tensor<i64>
  %b1 = graph.unsqueeze %b {axes = array<i64: 0>} : tensor<i64> -> tensor<1xi64>
  %n1 = graph.unsqueeze %n {axes = array<i64: 0>} : tensor<i64> -> tensor<1xi64>
  %h = graph.constant dense<3> : tensor<1xi64>
  %d = graph.constant dense<4> : tensor<1xi64>
  %shape = graph.concat %b1, %n1, %h, %d {axis = 0 : i64} : tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<4xi64>
  // CHECK-NEXT: graph.reshape %[[X]] {shape = array<i64: 2, 5, 3, 4>}
  // CHECK-NEXT: return
  %r = graph.reshape %x shape(%shape : tensor<4xi64>) : tensor<?x?x12xf32> -> tensor<?x?x?x?xf32>
  return %r : tensor<?x?x?x?xf32>
}

// -----

// Slice bounds become attributes, and the position ids of a [1, 7] table fold to constants.
// CHECK-LABEL: func.func @position_ids
func.func @position_ids(%x: tensor<?x?x12xf32> {graph.name = "x"}, %ids: tensor<?x?xi64> {graph.name = "ids"}) -> tensor<1x?xi64> {
  %table = graph.constant dense<[[0, 1, 2, 3, 4, 5, 6]]> : tensor<1x7xi64>
  %end = graph.shape_of %ids {start = 1 : i64} : tensor<?x?xi64> -> tensor<1xi64>
  %zero = graph.constant dense<0> : tensor<1xi64>
  // CHECK: %[[P:.*]] = graph.constant dense<{{\[\[}}0, 1, 2, 3, 4]]> : tensor<1x5xi64>
  // CHECK: return %[[P]]
  %r = graph.slice %table starts(%zero : tensor<1xi64>) ends(%end : tensor<1xi64>) {axes = array<i64: 1>} : tensor<1x7xi64> -> tensor<1x?xi64>
  return %r : tensor<1x?xi64>
}
