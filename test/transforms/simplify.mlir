// Exact clean-up: broadcasts and reshapes move down, transposes become flags, equal weights are one constant.
// RUN: gaudi-opt %s --simplify | FileCheck %s
// RUN: gaudi-opt %s --simplify=fast-math | FileCheck %s --check-prefix=FAST

// CHECK-LABEL: func.func @broadcast_is_implied
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x5x5xf32>, %[[M:.*]]: tensor<2x1x1x5xf32>)
func.func @broadcast_is_implied(%x: tensor<2x3x5x5xf32>, %m: tensor<2x1x1x5xf32>) -> tensor<2x3x5x5xf32> {
  // CHECK-NEXT: graph.binary add %[[X]], %[[M]]
  %b = graph.broadcast %m {shape = array<i64: 2, 3, 5, 5>} : tensor<2x1x1x5xf32> -> tensor<2x3x5x5xf32>
  %r = graph.binary add %x, %b : tensor<2x3x5x5xf32>, tensor<2x3x5x5xf32> -> tensor<2x3x5x5xf32>
  return %r : tensor<2x3x5x5xf32>
}

// (1 - m) * min on [2,1,1,5], expanded last.
// CHECK-LABEL: func.func @mask_is_computed_before_it_is_expanded
func.func @mask_is_computed_before_it_is_expanded(%m: tensor<2x1x1x5xf32>) -> tensor<2x1x5x5xf32> {
  %one = graph.constant dense<1.0> : tensor<f32>
  %min = graph.constant dense<-3.40282347E+38> : tensor<f32>
  %b = graph.broadcast %m {shape = array<i64: 2, 1, 5, 5>} : tensor<2x1x1x5xf32> -> tensor<2x1x5x5xf32>
  // CHECK: %[[A:.*]] = graph.binary sub {{.*}} -> tensor<2x1x1x5xf32>
  // CHECK: %[[B:.*]] = graph.binary mul {{.*}} -> tensor<2x1x1x5xf32>
  // CHECK: graph.broadcast %[[B]]
  %s = graph.binary sub %one, %b : tensor<f32>, tensor<2x1x5x5xf32> -> tensor<2x1x5x5xf32>
  %r = graph.binary mul %s, %min : tensor<2x1x5x5xf32>, tensor<f32> -> tensor<2x1x5x5xf32>
  return %r : tensor<2x1x5x5xf32>
}

// CHECK-LABEL: func.func @reshape_sinks
func.func @reshape_sinks(%x: tensor<2x3x5xf32>) -> tensor<6x5xf32> {
  // CHECK: %[[G:.*]] = graph.unary gelu {{.*}} tensor<2x3x5xf32>
  // CHECK: graph.reshape %[[G]]
  %v = graph.reshape %x {shape = array<i64: 6, 5>} : tensor<2x3x5xf32> -> tensor<6x5xf32>
  %r = graph.unary gelu %v : tensor<6x5xf32> -> tensor<6x5xf32>
  return %r : tensor<6x5xf32>
}

// CHECK-LABEL: func.func @transposed_weight
func.func @transposed_weight(%x: tensor<2x3xf32>) -> tensor<2x5xf32> {
  %w = graph.constant #graph.weight<"w", 0, 0, 60> : tensor<5x3xf32>
  %t = graph.transpose %w {permutation = array<i64: 1, 0>} : tensor<5x3xf32> -> tensor<3x5xf32>
  // CHECK: graph.matmul {{.*}} {transpose_rhs}
  // CHECK-NOT: graph.transpose
  %r = graph.matmul %x, %t : tensor<2x3xf32>, tensor<3x5xf32> -> tensor<2x5xf32>
  return %r : tensor<2x5xf32>
}

// Equal bytes under two names.
// CHECK-LABEL: func.func @duplicate_weights
func.func @duplicate_weights(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = graph.constant #graph.weight<"a", 0, 64, 12> : tensor<3xf32>
  %b = graph.constant #graph.weight<"b", 0, 64, 12> : tensor<3xf32>
  // CHECK: graph.constant #graph.weight<"a"
  // CHECK-NOT: graph.constant #graph.weight<"b"
  %y = graph.binary add %x, %a : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %r = graph.binary mul %y, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @division_by_a_power_of_two
func.func @division_by_a_power_of_two(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c = graph.constant dense<8.0> : tensor<f32>
  // CHECK: graph.constant dense<1.250000e-01>
  // CHECK: graph.binary mul
  %r = graph.binary div %x, %c : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// 1/3 is not representable: only with fast-math.
// CHECK-LABEL: func.func @division_by_three
// FAST-LABEL: func.func @division_by_three
func.func @division_by_three(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c = graph.constant dense<3.0> : tensor<f32>
  // CHECK: graph.binary div
  // FAST: graph.binary mul
  %r = graph.binary div %x, %c : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// Integer division is not a multiplication.
// CHECK-LABEL: func.func @integer_division
// FAST-LABEL: func.func @integer_division
func.func @integer_division(%x: tensor<3xi64>) -> tensor<3xi64> {
  %c = graph.constant dense<4> : tensor<i64>
  // CHECK: graph.binary div
  // FAST: graph.binary div
  %r = graph.binary div %x, %c : tensor<3xi64>, tensor<i64> -> tensor<3xi64>
  return %r : tensor<3xi64>
}

// The mask of a bidirectional model: true everywhere and the padding.
// CHECK-LABEL: func.func @and_with_true
func.func @and_with_true(%m: tensor<2x1x1x5xi1>, %x: tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32> {
  %true = graph.constant dense<true> : tensor<1x1x5x5xi1>
  %zero = graph.constant dense<0.0> : tensor<f32>
  // CHECK-NOT: logical_and
  // CHECK: graph.select %arg0, %arg1
  %c = graph.binary logical_and %true, %m : tensor<1x1x5x5xi1>, tensor<2x1x1x5xi1> -> tensor<2x1x5x5xi1>
  %r = graph.select %c, %x, %zero : tensor<2x1x5x5xi1>, tensor<2x3x5x5xf32>, tensor<f32> -> tensor<2x3x5x5xf32>
  return %r : tensor<2x3x5x5xf32>
}

// 2^17 is no f16 number, and x * 2^-28 would lose what (x * 2^-14) * 2^-14 keeps.
// CHECK-LABEL: func.func @factors_beyond_f16
func.func @factors_beyond_f16(%x: tensor<3xf16>) -> (tensor<3xf16>, tensor<3xf16>) {
  %a = graph.constant dense<6.103515625e-05> : tensor<f16>
  %b = graph.constant dense<7.62939453125e-06> : tensor<f16>
  // CHECK: graph.binary mul
  // CHECK: graph.binary mul
  // CHECK: graph.binary div
  // FAST: graph.binary mul
  // FAST: graph.binary mul
  // FAST: graph.binary div
  %m = graph.binary mul %x, %a : tensor<3xf16>, tensor<f16> -> tensor<3xf16>
  %n = graph.binary mul %m, %a : tensor<3xf16>, tensor<f16> -> tensor<3xf16>
  %d = graph.binary div %x, %b : tensor<3xf16>, tensor<f16> -> tensor<3xf16>
  return %n, %d : tensor<3xf16>, tensor<3xf16>
}
