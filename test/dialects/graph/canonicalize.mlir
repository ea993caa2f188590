// Canonical forms: shapes as attributes, unit-dim moves as reshape, no chains, no exact no-ops.
// RUN: gaudi-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @cast_same_type
func.func @cast_same_type(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK-NOT: graph.cast
  %0 = graph.cast %x {to = f32} : tensor<3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @cast_keeps_refined_type
func.func @cast_keeps_refined_type(%x: tensor<?xf32>) -> tensor<3xf32> {
  // CHECK: graph.cast
  %0 = graph.cast %x {to = f32} : tensor<?xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @shape_of_static_dims
func.func @shape_of_static_dims(%x: tensor<?x5x7xf32>) -> (tensor<2xi64>, tensor<3xi64>, tensor<0xi64>) {
  // CHECK-DAG: %[[S:.*]] = graph.constant dense<[5, 7]> : tensor<2xi64>
  %0 = graph.shape_of %x {start = -2 : i64} : tensor<?x5x7xf32> -> tensor<2xi64>
  // CHECK-DAG: %[[D:.*]] = graph.shape_of %{{.*}} : tensor<?x5x7xf32> -> tensor<3xi64>
  %1 = graph.shape_of %x : tensor<?x5x7xf32> -> tensor<3xi64>
  // CHECK-DAG: %[[E:.*]] = graph.constant dense<> : tensor<0xi64>
  %2 = graph.shape_of %x {start = 2 : i64, end = 1 : i64} : tensor<?x5x7xf32> -> tensor<0xi64>
  // CHECK: return %[[S]], %[[D]], %[[E]]
  return %0, %1, %2 : tensor<2xi64>, tensor<3xi64>, tensor<0xi64>
}

// CHECK-LABEL: @identity_moves
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
func.func @identity_moves(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.reshape %x {shape = array<i64: 2, 3>} : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 1>} : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = graph.broadcast %1 {shape = array<i64: 3>} : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = graph.slice %2 {starts = array<i64: 0>, ends = array<i64: 9>, axes = array<i64: 1>} : tensor<2x3xf32> -> tensor<2x3xf32>
  %4 = graph.concat %3 {axis = 0 : i64} : tensor<2x3xf32> -> tensor<2x3xf32>
  %5 = graph.pad %4 {pads = array<i64: 0, 0, 0, 0>} : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: return %[[X]]
  return %5 : tensor<2x3xf32>
}

// CHECK-LABEL: @reversed_slice_stays
func.func @reversed_slice_stays(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: graph.slice
  %0 = graph.slice %x {starts = array<i64: -1>, ends = array<i64: -9223372036854775808>, steps = array<i64: -1>, axes = array<i64: 0>}
    : tensor<3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @dynamic_moves_stay
func.func @dynamic_moves_stay(%x: tensor<?xf32>, %s: tensor<1xi64>) -> (tensor<?xf32>, tensor<?xf32>) {
  // CHECK: graph.broadcast
  %0 = graph.broadcast %x shape(%s : tensor<1xi64>) : tensor<?xf32> -> tensor<?xf32>
  // CHECK: graph.slice
  %1 = graph.slice %x {starts = array<i64: 0>, ends = array<i64: 5>, axes = array<i64: 0>} : tensor<?xf32> -> tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}

// CHECK-LABEL: @reshape_of_reshape
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x5xf32>, %[[Y:.*]]: tensor<?x3xf32>)
func.func @reshape_of_reshape(%x: tensor<2x3x5xf32>, %y: tensor<?x3xf32>) -> (tensor<5x6xf32>, tensor<?x1xf32>) {
  %0 = graph.reshape %x {shape = array<i64: 0, 15>} : tensor<2x3x5xf32> -> tensor<2x15xf32>
  // CHECK: graph.reshape %[[X]] {shape = array<i64: 5, 6>}
  %1 = graph.reshape %0 {shape = array<i64: 5, -1>} : tensor<2x15xf32> -> tensor<5x6xf32>
  %2 = graph.reshape %y {shape = array<i64: -1>} : tensor<?x3xf32> -> tensor<?xf32>
  // CHECK: graph.reshape %[[Y]] {shape = array<i64: -1, 1>}
  %3 = graph.reshape %2 {shape = array<i64: -1, 1>} : tensor<?xf32> -> tensor<?x1xf32>
  return %1, %3 : tensor<5x6xf32>, tensor<?x1xf32>
}

// The outer reshape copies a dim of the inner one: they must not merge.
// CHECK-LABEL: @reshape_copies_inner_dim
func.func @reshape_copies_inner_dim(%x: tensor<?x3xf32>) -> tensor<?x?xf32> {
  // CHECK: %[[I:.*]] = graph.reshape %{{.*}} {shape = array<i64: -1, 1>}
  %0 = graph.reshape %x {shape = array<i64: -1, 1>} : tensor<?x3xf32> -> tensor<?x1xf32>
  // CHECK: graph.reshape %[[I]] {shape = array<i64: 0, -1>}
  %1 = graph.reshape %0 {shape = array<i64: 0, -1>} : tensor<?x1xf32> -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// CHECK-LABEL: @reshape_to_zero_size
func.func @reshape_to_zero_size(%x: tensor<0x3xf32>) -> tensor<5x0xf32> {
  // CHECK: graph.reshape %{{.*}} {allowzero, shape = array<i64: 5, 0>}
  %0 = graph.reshape %x {shape = array<i64: 5, -1>} : tensor<0x3xf32> -> tensor<5x0xf32>
  return %0 : tensor<5x0xf32>
}

// CHECK-LABEL: @transpose_of_transpose
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x5xf32>)
func.func @transpose_of_transpose(%x: tensor<2x3x5xf32>) -> (tensor<3x5x2xf32>, tensor<2x3x5xf32>) {
  %0 = graph.transpose %x {permutation = array<i64: 2, 1, 0>} : tensor<2x3x5xf32> -> tensor<5x3x2xf32>
  // CHECK: %[[T:.*]] = graph.transpose %[[X]] {permutation = array<i64: 1, 2, 0>}
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : tensor<5x3x2xf32> -> tensor<3x5x2xf32>
  %2 = graph.transpose %0 {permutation = array<i64: 2, 1, 0>} : tensor<5x3x2xf32> -> tensor<2x3x5xf32>
  // CHECK: return %[[T]], %[[X]]
  return %1, %2 : tensor<3x5x2xf32>, tensor<2x3x5xf32>
}

// CHECK-LABEL: @unit_dims_move_as_reshape
func.func @unit_dims_move_as_reshape(%x: tensor<2x1x3xf32>) -> (tensor<1x2x3xf32>, tensor<2x3xf32>, tensor<2x1x3x1xf32>) {
  // CHECK: graph.reshape %{{.*}} {shape = array<i64: 1, 2, 3>}
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : tensor<2x1x3xf32> -> tensor<1x2x3xf32>
  // CHECK: graph.reshape %{{.*}} {shape = array<i64: 2, 3>}
  %1 = graph.squeeze %x : tensor<2x1x3xf32> -> tensor<2x3xf32>
  // CHECK: graph.reshape %{{.*}} {shape = array<i64: 2, 1, 3, 1>}
  %2 = graph.unsqueeze %x {axes = array<i64: 3>} : tensor<2x1x3xf32> -> tensor<2x1x3x1xf32>
  return %0, %1, %2 : tensor<1x2x3xf32>, tensor<2x3xf32>, tensor<2x1x3x1xf32>
}

// CHECK-LABEL: @shape_operands
func.func @shape_operands(%x: tensor<?x3xf32>, %y: tensor<1x3xf32>) {
  %s = graph.constant dense<[-1, 1]> : tensor<2xi64>
  %t = graph.constant dense<[7, 3]> : tensor<2xi64>
  %one = graph.constant dense<1> : tensor<1xi64>
  %p = graph.constant dense<[1, 0, 0, 2]> : tensor<4xi64>
  // CHECK: %[[A:.*]] = graph.reshape %{{[a-z0-9]*}} {shape = array<i64: -1, 1>}
  %0 = graph.reshape %x shape(%s : tensor<2xi64>) : tensor<?x3xf32> -> tensor<?x1xf32>
  // CHECK: %[[B:.*]] = graph.broadcast %{{[a-z0-9]*}} {shape = array<i64: 7, 3>}
  %1 = graph.broadcast %y shape(%t : tensor<2xi64>) : tensor<1x3xf32> -> tensor<7x3xf32>
  // CHECK: %[[C:.*]] = graph.slice %{{[a-z0-9]*}} {axes = array<i64: 0>, ends = array<i64: 9>, starts = array<i64: 1>, steps = array<i64: 1>}
  %2 = graph.slice %x starts(%one : tensor<1xi64>) steps(%one : tensor<1xi64>) {ends = array<i64: 9>, axes = array<i64: 0>}
    : tensor<?x3xf32> -> tensor<?x3xf32>
  // CHECK: %[[D:.*]] = graph.pad %{{[a-z0-9]*}} {pads = array<i64: 1, 0, 0, 2>}
  %3 = graph.pad %y pads(%p : tensor<4xi64>) : tensor<1x3xf32> -> tensor<2x5xf32>
  func.call @use(%0, %1, %2, %3) : (tensor<?x1xf32>, tensor<7x3xf32>, tensor<?x3xf32>, tensor<2x5xf32>) -> ()
  return
}
func.func private @use(tensor<?x1xf32>, tensor<7x3xf32>, tensor<?x3xf32>, tensor<2x5xf32>)

// CHECK-LABEL: @neutral_operands
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>, %[[I:.*]]: tensor<3xi32>)
func.func @neutral_operands(%x: tensor<3xf32>, %i: tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<3xf32>
  %minus_zero = graph.constant dense<-0.0> : tensor<f32>
  %int_zero = graph.constant dense<0> : tensor<1xi32>
  %0 = graph.binary mul %one, %x : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  %1 = graph.binary div %0, %one : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %2 = graph.binary pow %1, %one : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %3 = graph.binary add %minus_zero, %2 : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  %4 = graph.binary sub %3, %zero : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %5 = graph.binary add %i, %int_zero : tensor<3xi32>, tensor<1xi32> -> tensor<3xi32>
  // CHECK: return %[[X]], %[[I]]
  return %4, %5 : tensor<3xf32>, tensor<3xi32>
}

// x + 0.0 turns -0 into 0, 1 / x and 1^x are no copies, and a neutral operand may still widen the shape.
// CHECK-LABEL: @not_neutral
func.func @not_neutral(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %ones = graph.constant dense<1.0> : tensor<2x1xf32>
  // CHECK: graph.binary add
  %0 = graph.binary add %x, %zero : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  // CHECK: graph.binary div
  %1 = graph.binary div %one, %x : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  // CHECK: graph.binary mul
  %2 = graph.binary mul %x, %ones : tensor<3xf32>, tensor<2x1xf32> -> tensor<2x3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @reshape_of_constant
func.func @reshape_of_constant() -> tensor<2x2xi64> {
  %c = graph.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  // CHECK: graph.constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi64>
  %0 = graph.reshape %c {shape = array<i64: 2, -1>} : tensor<4xi64> -> tensor<2x2xi64>
  return %0 : tensor<2x2xi64>
}

// The declared type contradicts what the operand can ask for; the shape is not known yet, so nothing may be assumed.
// CHECK-LABEL: @reshape_declared_wrong
func.func @reshape_declared_wrong(%x: tensor<2x3xf32>, %s: tensor<1xi64>) -> tensor<5xf32> {
  // CHECK: graph.reshape %{{.*}} shape(
  %0 = graph.reshape %x shape(%s : tensor<1xi64>) : tensor<2x3xf32> -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
