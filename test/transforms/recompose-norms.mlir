// LayerNorm and RMSNorm in the spellings of exporters.
// RUN: gaudi-opt %s --recompose-norms | FileCheck %s

// CHECK-LABEL: func.func @pow_sqrt_div_affine
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x5xf32>, %[[S:.*]]: tensor<5xf32>, %[[B:.*]]: tensor<5xf32>)
func.func @pow_sqrt_div_affine(%x: tensor<2x3x5xf32>, %scale: tensor<5xf32>, %bias: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %two = graph.constant dense<2.0> : tensor<f32>
  %eps = graph.constant dense<1.0e-12> : tensor<f32>
  %m = graph.reduce mean %x {axes = array<i64: 2>, keepdims} : tensor<2x3x5xf32> -> tensor<2x3x1xf32>
  %d = graph.binary sub %x, %m : tensor<2x3x5xf32>, tensor<2x3x1xf32> -> tensor<2x3x5xf32>
  %q = graph.binary pow %d, %two : tensor<2x3x5xf32>, tensor<f32> -> tensor<2x3x5xf32>
  %v = graph.reduce mean %q {axes = array<i64: 2>, keepdims} : tensor<2x3x5xf32> -> tensor<2x3x1xf32>
  %e = graph.binary add %v, %eps : tensor<2x3x1xf32>, tensor<f32> -> tensor<2x3x1xf32>
  %r = graph.unary sqrt %e : tensor<2x3x1xf32> -> tensor<2x3x1xf32>
  %n = graph.binary div %d, %r : tensor<2x3x5xf32>, tensor<2x3x1xf32> -> tensor<2x3x5xf32>
  %y = graph.binary mul %scale, %n : tensor<5xf32>, tensor<2x3x5xf32> -> tensor<2x3x5xf32>
  // CHECK: %[[Y:.*]] = graph.layer_norm %[[X]] scale(%[[S]] : tensor<5xf32>) bias(%[[B]] : tensor<5xf32>) {axis = 2 : i64, epsilon = {{9.9999999.*E-13|1.0.*E-12}} : f64}
  // CHECK-NEXT: return %[[Y]]
  %z = graph.binary add %y, %bias : tensor<2x3x5xf32>, tensor<5xf32> -> tensor<2x3x5xf32>
  return %z : tensor<2x3x5xf32>
}

// x * rsqrt over two trailing dims, without affine.
// CHECK-LABEL: func.func @square_rsqrt_mul
func.func @square_rsqrt_mul(%x: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %eps = graph.constant dense<0.5> : tensor<1xf32>
  %m = graph.reduce mean %x {axes = array<i64: 1, 2>, keepdims} : tensor<2x3x5xf32> -> tensor<2x1x1xf32>
  %d = graph.binary sub %x, %m : tensor<2x3x5xf32>, tensor<2x1x1xf32> -> tensor<2x3x5xf32>
  %q = graph.binary mul %d, %d : tensor<2x3x5xf32>, tensor<2x3x5xf32> -> tensor<2x3x5xf32>
  %v = graph.reduce mean %q {axes = array<i64: 1, 2>, keepdims} : tensor<2x3x5xf32> -> tensor<2x1x1xf32>
  %e = graph.binary add %eps, %v : tensor<1xf32>, tensor<2x1x1xf32> -> tensor<2x1x1xf32>
  %r = graph.unary rsqrt %e : tensor<2x1x1xf32> -> tensor<2x1x1xf32>
  // CHECK: graph.layer_norm %{{.*}} {axis = 1 : i64, epsilon = 5.000000e-01 : f64}
  %n = graph.binary mul %r, %d : tensor<2x1x1xf32>, tensor<2x3x5xf32> -> tensor<2x3x5xf32>
  return %n : tensor<2x3x5xf32>
}

// T5: x * (1 / sqrt(mean(x^2) + eps)) * scale.
// CHECK-LABEL: func.func @rms_by_division
func.func @rms_by_division(%x: tensor<2x5xf32>, %scale: tensor<5xf32>) -> tensor<2x5xf32> {
  %one = graph.constant dense<1.0> : tensor<f32>
  %eps = graph.constant dense<0.5> : tensor<f32>
  %q = graph.binary mul %x, %x : tensor<2x5xf32>, tensor<2x5xf32> -> tensor<2x5xf32>
  %v = graph.reduce mean %q {axes = array<i64: 1>, keepdims} : tensor<2x5xf32> -> tensor<2x1xf32>
  %e = graph.binary add %v, %eps : tensor<2x1xf32>, tensor<f32> -> tensor<2x1xf32>
  %r = graph.unary sqrt %e : tensor<2x1xf32> -> tensor<2x1xf32>
  %i = graph.binary div %one, %r : tensor<f32>, tensor<2x1xf32> -> tensor<2x1xf32>
  %n = graph.binary mul %x, %i : tensor<2x5xf32>, tensor<2x1xf32> -> tensor<2x5xf32>
  // CHECK: graph.rms_norm %{{.*}} scale(%{{.*}} : tensor<5xf32>) {axis = 1 : i64, epsilon = 5.000000e-01 : f64}
  // CHECK-NOT: graph.layer_norm
  %y = graph.binary mul %n, %scale : tensor<2x5xf32>, tensor<5xf32> -> tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}

// Near miss: the variance is of another axis.
// CHECK-LABEL: func.func @not_the_last_axis
func.func @not_the_last_axis(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %eps = graph.constant dense<0.5> : tensor<f32>
  %q = graph.binary mul %x, %x : tensor<3x5xf32>, tensor<3x5xf32> -> tensor<3x5xf32>
  %v = graph.reduce mean %q {axes = array<i64: 0>, keepdims} : tensor<3x5xf32> -> tensor<1x5xf32>
  %e = graph.binary add %v, %eps : tensor<1x5xf32>, tensor<f32> -> tensor<1x5xf32>
  %r = graph.unary rsqrt %e : tensor<1x5xf32> -> tensor<1x5xf32>
  // CHECK-NOT: _norm
  %n = graph.binary mul %x, %r : tensor<3x5xf32>, tensor<1x5xf32> -> tensor<3x5xf32>
  return %n : tensor<3x5xf32>
}

// Near miss: another value is normalised than the one whose square was averaged.
// CHECK-LABEL: func.func @two_values
func.func @two_values(%x: tensor<3x5xf32>, %z: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %eps = graph.constant dense<0.5> : tensor<f32>
  %q = graph.binary mul %x, %x : tensor<3x5xf32>, tensor<3x5xf32> -> tensor<3x5xf32>
  %v = graph.reduce mean %q {axes = array<i64: 1>, keepdims} : tensor<3x5xf32> -> tensor<3x1xf32>
  %e = graph.binary add %v, %eps : tensor<3x1xf32>, tensor<f32> -> tensor<3x1xf32>
  %r = graph.unary rsqrt %e : tensor<3x1xf32> -> tensor<3x1xf32>
  // CHECK-NOT: _norm
  %n = graph.binary mul %z, %r : tensor<3x5xf32>, tensor<3x1xf32> -> tensor<3x5xf32>
  return %n : tensor<3x5xf32>
}

// Near miss: a scale of the whole shape (adaptive norm) is no scale of the norm.
// CHECK-LABEL: func.func @per_row_scale
func.func @per_row_scale(%x: tensor<3x5xf32>, %s: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %n = graph.rms_norm %x {axis = 1 : i64, epsilon = 0.5 : f64} : tensor<3x5xf32> -> tensor<3x5xf32>
  // CHECK: graph.binary mul
  %y = graph.binary mul %n, %s : tensor<3x5xf32>, tensor<3x5xf32> -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
