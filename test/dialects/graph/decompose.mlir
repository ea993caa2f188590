// Composites become primitives, and the primitives give the numbers of the composite's own evaluation.
// RUN: gaudi-opt %s --decompose-composites | FileCheck %s
// RUN: gaudi-opt %s --run-checks
// RUN: gaudi-opt %s --decompose-composites --run-checks

// Statistics of a 16-bit type are fp32: no reduction on f16.
// CHECK-LABEL: @softmax_16_bit
// CHECK-NOT: graph.softmax
// CHECK-NOT: graph.reduce {{.*}} -> tensor<{{.*}}xf16>
// CHECK: graph.cast %{{.*}} {to = f16}
func.func @softmax_16_bit() {
  %x = graph.constant dense<[[1.0, 2.0, 4.0], [0xFC00, 0.0, 0xFC00]]> : tensor<2x3xf16>
  %y = graph.softmax %x {axis = 1 : i64} : tensor<2x3xf16> -> tensor<2x3xf16>
  %e = graph.constant dense<[[0.042010067, 0.114195200, 0.843794733], [0.0, 1.0, 0.0]]> : tensor<2x3xf16>
  // One fp16 rounding of values below 1: 2^-12.
  check.expect_close %y, %e {atol = 2.44140625e-4 : f64} : tensor<2x3xf16>, tensor<2x3xf16>
  return
}

// CHECK-LABEL: @log_softmax
// CHECK: graph.unary log
// CHECK-NOT: graph.softmax
func.func @log_softmax() {
  %x = graph.constant dense<[[1000.0, 999.0]]> : tensor<1x2xf32>
  %y = graph.softmax %x {axis = 1 : i64, log} : tensor<1x2xf32> -> tensor<1x2xf32>
  %e = graph.constant dense<[[-0.313261688, -1.31326169]]> : tensor<1x2xf32>
  check.expect_close %y, %e {rtol = 4.0e-7 : f64} : tensor<1x2xf32>, tensor<1x2xf32>
  return
}

// CHECK-LABEL: @layer_norm
// CHECK-NOT: graph.layer_norm
// CHECK: graph.reduce mean %{{.*}} {axes = array<i64: 1>, keepdims}
func.func @layer_norm() {
  %x = graph.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %s = graph.constant dense<[1.0, 1.0, 2.0]> : tensor<3xf32>
  %b = graph.constant dense<10.0> : tensor<1xf32>
  %y = graph.layer_norm %x scale(%s : tensor<3xf32>) bias(%b : tensor<1xf32>) {axis = 1 : i64, epsilon = 1.0e-12 : f64}
    : tensor<1x3xf32> -> tensor<1x3xf32>
  %e = graph.constant dense<[[8.77525513, 10.0, 12.4494897]]> : tensor<1x3xf32>
  check.expect_close %y, %e {rtol = 4.0e-7 : f64} : tensor<1x3xf32>, tensor<1x3xf32>
  return
}

// Squares of 300 pass the range of fp16; in fp32 they do not.
// CHECK-LABEL: @rms_norm_16_bit
// CHECK-NOT: graph.rms_norm
// CHECK: graph.cast %{{.*}} {to = f32}
func.func @rms_norm_16_bit() {
  %x = graph.constant dense<[300.0, -300.0]> : tensor<2xf16>
  %y = graph.rms_norm %x {axis = 0 : i64, epsilon = 1.0e-6 : f64} : tensor<2xf16> -> tensor<2xf16>
  %e = graph.constant dense<[1.0, -1.0]> : tensor<2xf16>
  check.expect_close %y, %e : tensor<2xf16>, tensor<2xf16>
  return
}

// The causal mask is computed from ranges, never stored.
// CHECK-LABEL: @attention_causal
// CHECK-NOT: graph.attention
// CHECK: graph.range
// CHECK: graph.binary le
func.func @attention_causal() {
  %q = graph.constant dense<0.0> : tensor<1x3x1x1xf32>
  %v = graph.constant dense<[[[[3.0]], [[5.0]], [[10.0]]]]> : tensor<1x3x1x1xf32>
  %y = graph.attention %q, %q, %v {scale = 1.0 : f64, causal} : tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32> -> tensor<1x3x1x1xf32>
  %e = graph.constant dense<[[[[3.0]], [[4.0]], [[6.0]]]]> : tensor<1x3x1x1xf32>
  check.expect_close %y, %e {rtol = 4.0e-7 : f64} : tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>
  return
}

// Rows without a key are zero on request; a NaN of the inputs stays a NaN.
// CHECK-LABEL: @attention_zero_rows
// CHECK-NOT: graph.attention
func.func @attention_zero_rows() {
  %q = graph.constant dense<[[[[0.0]], [[0.0]], [[0x7FC00000]]]]> : tensor<1x3x1x1xf32>
  %k = graph.constant dense<1.0> : tensor<1x2x1x1xf32>
  %v = graph.constant dense<[[[[4.0]], [[8.0]]]]> : tensor<1x2x1x1xf32>
  %m = graph.constant dense<[[true, true], [false, false], [true, true]]> : tensor<3x2xi1>
  %y = graph.attention %q, %k, %v mask(%m : tensor<3x2xi1>) {scale = 1.0 : f64, zero_masked_rows}
    : tensor<1x3x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x3x1x1xf32>
  %e = graph.constant dense<[[[[6.0]], [[0.0]], [[0x7FC00000]]]]> : tensor<1x3x1x1xf32>
  check.expect_close %y, %e : tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>
  return
}

// Query heads of one key head become rows of one product: no copy of keys or values.
// CHECK-LABEL: @attention_grouped_heads
// CHECK: graph.matmul %{{.*}}, %{{.*}} {transpose_rhs} : tensor<1x2x2x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x2x2x1xf32>
func.func @attention_grouped_heads() {
  %q = graph.constant dense<1.0> : tensor<1x4x1x1xf32>
  %k = graph.constant dense<1.0> : tensor<1x2x1x1xf32>
  %v = graph.constant dense<[[[[1.0, 10.0]], [[2.0, 20.0]]]]> : tensor<1x2x1x2xf32>
  %y = graph.attention %q, %k, %v {scale = 1.0 : f64, heads_first} : tensor<1x4x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x2xf32> -> tensor<1x4x1x2xf32>
  %e = graph.constant dense<[[[[1.0, 10.0]], [[1.0, 10.0]], [[2.0, 20.0]], [[2.0, 20.0]]]]> : tensor<1x4x1x2xf32>
  check.expect_close %y, %e : tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>
  return
}

// Batch and lengths may be dynamic.
// CHECK-LABEL: @attention_dynamic
// CHECK-NOT: graph.attention
// CHECK: graph.shape_of
// CHECK: return %{{.*}} : tensor<?x4x?x8xf16>
func.func @attention_dynamic(%q: tensor<?x4x?x8xf16>, %k: tensor<?x2x?x8xf16>) -> tensor<?x4x?x8xf16> {
  %y = graph.attention %q, %k, %k {scale = 0.5 : f64, heads_first, causal, bottom_right}
    : tensor<?x4x?x8xf16>, tensor<?x2x?x8xf16>, tensor<?x2x?x8xf16> -> tensor<?x4x?x8xf16>
  return %y : tensor<?x4x?x8xf16>
}
