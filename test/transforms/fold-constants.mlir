// Ops on dense constants are evaluated within limits; weight references change type, offset or a flag only.
// RUN: gaudi-opt %s --fold-constants | FileCheck %s

// CHECK-LABEL: func.func @integer_arithmetic
func.func @integer_arithmetic() -> tensor<3xi64> {
  %a = graph.constant dense<[2, 3, 5]> : tensor<3xi64>
  %b = graph.constant dense<7> : tensor<i64>
  // CHECK: graph.constant dense<[14, 21, 35]>
  // CHECK-NOT: graph.binary
  %r = graph.binary mul %a, %b : tensor<3xi64>, tensor<i64> -> tensor<3xi64>
  return %r : tensor<3xi64>
}

// A splat of any size stays a splat and costs one evaluation.
// CHECK-LABEL: func.func @large_splat
func.func @large_splat() -> tensor<521x523xf32> {
  %a = graph.constant dense<3.0> : tensor<521x523xf32>
  // CHECK: graph.constant dense<-3.000000e+00> : tensor<521x523xf32>
  // CHECK-NOT: graph.unary
  %r = graph.unary neg %a : tensor<521x523xf32> -> tensor<521x523xf32>
  return %r : tensor<521x523xf32>
}

// A float result that is larger than 4 KiB and than its inputs is not materialised.
// CHECK-LABEL: func.func @float_limit
func.func @float_limit() -> tensor<1031x2xf32> {
  %a = graph.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  // CHECK: graph.broadcast
  %r = graph.broadcast %a {shape = array<i64: 1031, 2>} : tensor<1x2xf32> -> tensor<1031x2xf32>
  return %r : tensor<1031x2xf32>
}

// CHECK-LABEL: func.func @weight_reshape
func.func @weight_reshape() -> tensor<1x3x5xf32> {
  %w = graph.constant #graph.weight<"w", 0, 128, 60> : tensor<3x5xf32>
  // CHECK: graph.constant #graph.weight<"w", 0, 128, 60> : tensor<1x3x5xf32>
  // CHECK-NOT: graph.reshape
  %r = graph.reshape %w {shape = array<i64: 1, 3, 5>} : tensor<3x5xf32> -> tensor<1x3x5xf32>
  return %r : tensor<1x3x5xf32>
}

// Rows 2..4 of the table: offset 128 + 2 * 20.
// CHECK-LABEL: func.func @gather_of_consecutive_rows
func.func @gather_of_consecutive_rows() -> tensor<1x3x5xf32> {
  %w = graph.constant #graph.weight<"w", 0, 128, 140> : tensor<7x5xf32>
  %i = graph.constant dense<[[2, 3, 4]]> : tensor<1x3xi64>
  // CHECK: graph.constant #graph.weight<"w", 0, 168, 60> : tensor<1x3x5xf32>
  // CHECK-NOT: graph.gather
  %r = graph.gather %w, %i {axis = 0 : i64} : tensor<7x5xf32>, tensor<1x3xi64> -> tensor<1x3x5xf32>
  return %r : tensor<1x3x5xf32>
}

// Token type ids expanded over batch and sequence: one row, broadcast.
// CHECK-LABEL: func.func @gather_of_one_row_everywhere
func.func @gather_of_one_row_everywhere() -> tensor<2x3x5xf32> {
  %w = graph.constant #graph.weight<"w", 0, 128, 40> : tensor<2x5xf32>
  %i = graph.constant dense<1> : tensor<2x3xi64>
  // CHECK: %[[ROW:.*]] = graph.constant #graph.weight<"w", 0, 148, 20> : tensor<1x1x5xf32>
  // CHECK: graph.broadcast %[[ROW]] {shape = array<i64: 2, 3, 5>}
  %r = graph.gather %w, %i {axis = 0 : i64} : tensor<2x5xf32>, tensor<2x3xi64> -> tensor<2x3x5xf32>
  return %r : tensor<2x3x5xf32>
}

// Near miss: the rows are not consecutive.
// CHECK-LABEL: func.func @gather_of_scattered_rows
func.func @gather_of_scattered_rows() -> tensor<3x5xf32> {
  %w = graph.constant #graph.weight<"w", 0, 128, 140> : tensor<7x5xf32>
  %i = graph.constant dense<[2, 4, 3]> : tensor<3xi64>
  // CHECK: graph.gather
  %r = graph.gather %w, %i {axis = 0 : i64} : tensor<7x5xf32>, tensor<3xi64> -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// CHECK-LABEL: func.func @slice_of_weight_rows
func.func @slice_of_weight_rows() -> tensor<1x2x5xf32> {
  %w = graph.constant #graph.weight<"w", 0, 128, 140> : tensor<1x7x5xf32>
  // CHECK: graph.constant #graph.weight<"w", 0, 188, 40> : tensor<1x2x5xf32>
  %r = graph.slice %w {starts = array<i64: 3>, ends = array<i64: 5>, steps = array<i64: 1>, axes = array<i64: 1>} : tensor<1x7x5xf32> -> tensor<1x2x5xf32>
  return %r : tensor<1x2x5xf32>
}

// Near miss: columns are not contiguous.
// CHECK-LABEL: func.func @slice_of_weight_columns
func.func @slice_of_weight_columns() -> tensor<7x2xf32> {
  %w = graph.constant #graph.weight<"w", 0, 128, 140> : tensor<7x5xf32>
  // CHECK: graph.slice
  %r = graph.slice %w {starts = array<i64: 1>, ends = array<i64: 3>, steps = array<i64: 1>, axes = array<i64: 1>} : tensor<7x5xf32> -> tensor<7x2xf32>
  return %r : tensor<7x2xf32>
}

// x[:, -1]
// CHECK-LABEL: func.func @gather_of_one_index
func.func @gather_of_one_index(%x: tensor<2x3x5xf32>) -> tensor<2x5xf32> {
  %i = graph.constant dense<-1> : tensor<i64>
  // CHECK: %[[S:.*]] = graph.slice %arg0 {axes = array<i64: 1>, ends = array<i64: 3>, starts = array<i64: 2>
  // CHECK: graph.reshape %[[S]] {shape = array<i64: 2, 5>}
  %r = graph.gather %x, %i {axis = 1 : i64} : tensor<2x3x5xf32>, tensor<i64> -> tensor<2x5xf32>
  return %r : tensor<2x5xf32>
}

// Masks of transformers >= 4.53: every element, in order.
// CHECK-LABEL: func.func @gather_nd_of_everything
func.func @gather_nd_of_everything(%x: tensor<2x3xi1>) -> tensor<2x1x3xi1> {
  %i = graph.constant dense<[[[[0, 0], [0, 1], [0, 2]]], [[[1, 0], [1, 1], [1, 2]]]]> : tensor<2x1x3x2xi64>
  // CHECK: graph.reshape %arg0 {shape = array<i64: 2, 1, 3>}
  %r = graph.gather_nd %x, %i : tensor<2x3xi1>, tensor<2x1x3x2xi64> -> tensor<2x1x3xi1>
  return %r : tensor<2x1x3xi1>
}

// Near miss: two elements exchanged.
// CHECK-LABEL: func.func @gather_nd_permuted
func.func @gather_nd_permuted(%x: tensor<3xf32>) -> tensor<3xf32> {
  %i = graph.constant dense<[[0], [2], [1]]> : tensor<3x1xi64>
  // CHECK: graph.gather_nd
  %r = graph.gather_nd %x, %i : tensor<3xf32>, tensor<3x1xi64> -> tensor<3xf32>
  return %r : tensor<3xf32>
}
