// exp(x - max) / sum is a softmax only with the maximum subtracted.
// RUN: gaudi-opt %s --recompose-softmax | FileCheck %s

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %m = graph.reduce max %x {axes = array<i64: 1>, keepdims} : tensor<3x5xf32> -> tensor<3x1xf32>
  %d = graph.binary sub %x, %m : tensor<3x5xf32>, tensor<3x1xf32> -> tensor<3x5xf32>
  %e = graph.unary exp %d : tensor<3x5xf32> -> tensor<3x5xf32>
  %s = graph.reduce sum %e {axes = array<i64: 1>, keepdims} : tensor<3x5xf32> -> tensor<3x1xf32>
  // CHECK-NEXT: graph.softmax %{{.*}} {axis = 1 : i64}
  %r = graph.binary div %e, %s : tensor<3x5xf32>, tensor<3x1xf32> -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// CHECK-LABEL: func.func @log_softmax
func.func @log_softmax(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %m = graph.reduce max %x {axes = array<i64: 0>, keepdims} : tensor<3x5xf32> -> tensor<1x5xf32>
  %d = graph.binary sub %x, %m : tensor<3x5xf32>, tensor<1x5xf32> -> tensor<3x5xf32>
  %e = graph.unary exp %d : tensor<3x5xf32> -> tensor<3x5xf32>
  %s = graph.reduce sum %e {axes = array<i64: 0>, keepdims} : tensor<3x5xf32> -> tensor<1x5xf32>
  %l = graph.unary log %s : tensor<1x5xf32> -> tensor<1x5xf32>
  // CHECK-NEXT: graph.softmax %{{.*}} {axis = 0 : i64, log}
  %r = graph.binary sub %d, %l : tensor<3x5xf32>, tensor<1x5xf32> -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// Near miss: overflows where softmax would not.
// CHECK-LABEL: func.func @no_maximum
func.func @no_maximum(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %e = graph.unary exp %x : tensor<3x5xf32> -> tensor<3x5xf32>
  %s = graph.reduce sum %e {axes = array<i64: 1>, keepdims} : tensor<3x5xf32> -> tensor<3x1xf32>
  // CHECK-NOT: graph.softmax
  %r = graph.binary div %e, %s : tensor<3x5xf32>, tensor<3x1xf32> -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// Near miss: the maximum is of another axis.
// CHECK-LABEL: func.func @axes_differ
func.func @axes_differ(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %m = graph.reduce max %x {axes = array<i64: 0>, keepdims} : tensor<3x5xf32> -> tensor<1x5xf32>
  %d = graph.binary sub %x, %m : tensor<3x5xf32>, tensor<1x5xf32> -> tensor<3x5xf32>
  %e = graph.unary exp %d : tensor<3x5xf32> -> tensor<3x5xf32>
  %s = graph.reduce sum %e {axes = array<i64: 1>, keepdims} : tensor<3x5xf32> -> tensor<3x1xf32>
  // CHECK-NOT: graph.softmax
  %r = graph.binary div %e, %s : tensor<3x5xf32>, tensor<3x1xf32> -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
