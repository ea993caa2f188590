// Which ops still carry the name of a value of the model (dialects/graph/Locations.h).
// RUN: gaudi-opt %s --graph-pipeline --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s


// What replaces a named op takes over its name: x / 4 -> x * 0.25.
// CHECK-LABEL: @replaced
// CHECK: graph.binary mul {{.*}} loc("div_node"("div_value"))
func.func @replaced(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = graph.constant dense<4.0> : tensor<f32>
  %y = graph.binary div %x, %c : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32> loc("div_node"("div_value"))
  return %y : tensor<4x8xf32>
}

// A smaller copy of a value, broadcast later, is not that value.
// CHECK-LABEL: @narrowed
// CHECK: graph.unary exp {{.*}} loc("exp_node")
// CHECK-NOT: "exp_value"
// CHECK: graph.broadcast {{.*}} loc("exp_node"("exp_value"))
func.func @narrowed(%x: tensor<1x8xf32>) -> tensor<4x8xf32> {
  %b = graph.broadcast %x {shape = array<i64: 4, 8>} : tensor<1x8xf32> -> tensor<4x8xf32>
  %y = graph.unary exp %b : tensor<4x8xf32> -> tensor<4x8xf32> loc("exp_node"("exp_value"))
  return %y : tensor<4x8xf32>
}
