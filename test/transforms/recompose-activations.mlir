// GELU and SiLU in the orders of products that exporters write.
// RUN: gaudi-opt %s --recompose-activations | FileCheck %s

// torch.onnx: x / sqrt 2, erf, + 1, * x, * 0.5.
// CHECK-LABEL: func.func @gelu_torchscript
// CHECK-SAME:    (%[[X:.*]]: tensor<3xf32>)
func.func @gelu_torchscript(%x: tensor<3xf32>) -> tensor<3xf32> {
  %s = graph.constant dense<1.41421354> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.binary div %x, %s : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %e = graph.unary erf %a : tensor<3xf32> -> tensor<3xf32>
  %p = graph.binary add %e, %one : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %q = graph.binary mul %x, %p : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  // CHECK: %[[Y:.*]] = graph.unary gelu %[[X]]
  // CHECK-NEXT: return %[[Y]]
  %r = graph.binary mul %q, %half : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// x * (0.5 * (1 + erf(0.7071 x))), where x itself is a product.
// CHECK-LABEL: func.func @gelu_of_a_product
func.func @gelu_of_a_product(%u: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<3xf32> {
  %x = graph.binary mul %u, %v : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %s = graph.constant dense<0.7071> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.binary mul %x, %s : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %e = graph.unary erf %a : tensor<3xf32> -> tensor<3xf32>
  %p = graph.binary add %one, %e : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  %q = graph.binary mul %half, %p : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  // CHECK: %[[P:.*]] = graph.binary mul
  // CHECK: graph.unary gelu %[[P]]
  %r = graph.binary mul %x, %q : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @gelu_tanh
func.func @gelu_tanh(%x: tensor<3xf32>) -> tensor<3xf32> {
  %three = graph.constant dense<3.0> : tensor<f32>
  %c = graph.constant dense<0.044715> : tensor<f32>
  %k = graph.constant dense<0.797884583> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %x3 = graph.binary pow %x, %three : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %cx = graph.binary mul %x3, %c : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %sum = graph.binary add %x, %cx : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %arg = graph.binary mul %sum, %k : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %t = graph.unary tanh %arg : tensor<3xf32> -> tensor<3xf32>
  %p = graph.binary add %t, %one : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %h = graph.binary mul %x, %half : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  // CHECK: graph.unary gelu_tanh
  // CHECK-NOT: graph.binary
  %r = graph.binary mul %h, %p : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @silu
func.func @silu(%x: tensor<3xf32>) -> tensor<3xf32> {
  %s = graph.unary sigmoid %x : tensor<3xf32> -> tensor<3xf32>
  // CHECK: graph.unary silu
  %r = graph.binary mul %s, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// Near miss: quick-gelu scales the argument.
// CHECK-LABEL: func.func @quick_gelu_stays
func.func @quick_gelu_stays(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c = graph.constant dense<1.702> : tensor<f32>
  %a = graph.binary mul %x, %c : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  // CHECK: graph.unary sigmoid
  %s = graph.unary sigmoid %a : tensor<3xf32> -> tensor<3xf32>
  %r = graph.binary mul %x, %s : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// Near miss: 1 - erf.
// CHECK-LABEL: func.func @complementary_error_function
func.func @complementary_error_function(%x: tensor<3xf32>) -> tensor<3xf32> {
  %s = graph.constant dense<0.70710677> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %a = graph.binary mul %x, %s : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %e = graph.unary erf %a : tensor<3xf32> -> tensor<3xf32>
  %p = graph.binary sub %one, %e : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  %q = graph.binary mul %x, %p : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  // CHECK-NOT: gelu %
  %r = graph.binary mul %q, %half : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// Near miss: in f64 the square root of two rounded to f32 is another number.
// CHECK-LABEL: func.func @f32_constant_in_f64
func.func @f32_constant_in_f64(%x: tensor<3xf64>) -> tensor<3xf64> {
  %s = graph.constant dense<1.41421354> : tensor<f64>
  %one = graph.constant dense<1.0> : tensor<f64>
  %half = graph.constant dense<0.5> : tensor<f64>
  %a = graph.binary div %x, %s : tensor<3xf64>, tensor<f64> -> tensor<3xf64>
  // CHECK: graph.unary erf
  %e = graph.unary erf %a : tensor<3xf64> -> tensor<3xf64>
  %p = graph.binary add %e, %one : tensor<3xf64>, tensor<f64> -> tensor<3xf64>
  %q = graph.binary mul %x, %half : tensor<3xf64>, tensor<f64> -> tensor<3xf64>
  // CHECK-NOT: gelu
  %r = graph.binary mul %q, %p : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  return %r : tensor<3xf64>
}

// CHECK-LABEL: func.func @f64_constant_in_f64
func.func @f64_constant_in_f64(%x: tensor<3xf64>) -> tensor<3xf64> {
  %s = graph.constant dense<1.4142135623730951> : tensor<f64>
  %one = graph.constant dense<1.0> : tensor<f64>
  %half = graph.constant dense<0.5> : tensor<f64>
  %a = graph.binary div %x, %s : tensor<3xf64>, tensor<f64> -> tensor<3xf64>
  %e = graph.unary erf %a : tensor<3xf64> -> tensor<3xf64>
  %p = graph.binary add %e, %one : tensor<3xf64>, tensor<f64> -> tensor<3xf64>
  %q = graph.binary mul %x, %half : tensor<3xf64>, tensor<f64> -> tensor<3xf64>
  // CHECK: graph.unary gelu
  %r = graph.binary mul %q, %p : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  return %r : tensor<3xf64>
}
