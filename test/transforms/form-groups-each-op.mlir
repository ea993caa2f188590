// Device ref's grouping: every op alone, nothing fused; what is dead goes, views stay outside.
// RUN: gaudi-opt %s --form-groups=each-op | FileCheck %s

// CHECK-LABEL: @each
// CHECK-NOT: graph.unary tanh
// CHECK: graph.group "generic"(%arg0, %arg1)
// CHECK: graph.matmul
// CHECK: %[[R:.*]] = graph.reshape
// CHECK: graph.group "generic"(%[[R]])
// CHECK: graph.softmax
// CHECK: graph.group "generic"
// CHECK: graph.constant dense<2.000000e+00>
// CHECK: graph.binary mul
// CHECK-NOT: graph.group
func.func @each(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<2x12xf32> {
  %two = graph.constant dense<2.0> : tensor<f32>
  %dead = graph.unary tanh %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %a = graph.matmul %x, %w : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %b = graph.reshape %a {shape = array<i64: 2, 12>} : tensor<4x6xf32> -> tensor<2x12xf32>
  %c = graph.softmax %b {axis = 0 : i64} : tensor<2x12xf32> -> tensor<2x12xf32>
  %d = graph.binary mul %c, %two : tensor<2x12xf32>, tensor<f32> -> tensor<2x12xf32>
  return %d : tensor<2x12xf32>
}
