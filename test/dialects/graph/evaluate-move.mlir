// Ops that move elements: values, not only shapes.
// RUN: gaudi-opt %s --run-checks

func.func @shape_of() {
  %x = graph.constant dense<0.0> : tensor<2x3x5xf32>
  %a = graph.shape_of %x : tensor<2x3x5xf32> -> tensor<3xi64>
  %b = graph.shape_of %x {start = -2 : i64, end = -1 : i64} : tensor<2x3x5xf32> -> tensor<1xi64>
  %ea = graph.constant dense<[2, 3, 5]> : tensor<3xi64>
  %eb = graph.constant dense<3> : tensor<1xi64>
  check.expect_close %a, %ea : tensor<3xi64>, tensor<3xi64>
  check.expect_close %b, %eb : tensor<1xi64>, tensor<1xi64>
  return
}

// The shape is a run-time value: its operand is no constant.
func.func @reshape_computed_shape() {
  %x = graph.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %h = graph.constant dense<[1, 0]> : tensor<2xi64>
  %d = graph.constant dense<[2, -1]> : tensor<2xi64>
  %s = graph.binary add %h, %d : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
  %y = graph.reshape %x shape(%s : tensor<2xi64>) : tensor<2x3xi32> -> tensor<?x?xi32>
  %e = graph.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  check.expect_close %y, %e : tensor<?x?xi32>, tensor<3x2xi32>
  return
}

// 0 copies, allowzero keeps it, -1 beside a copied 0 is still 3.
func.func @reshape_zero_size() {
  %x = graph.constant dense<> : tensor<0x3xf32>
  %a = graph.reshape %x {shape = array<i64: 0, -1>} : tensor<0x3xf32> -> tensor<0x3xf32>
  %b = graph.reshape %x {shape = array<i64: 7, 0>, allowzero} : tensor<0x3xf32> -> tensor<7x0xf32>
  %e = graph.constant dense<> : tensor<7x0xf32>
  check.expect_close %a, %x : tensor<0x3xf32>, tensor<0x3xf32>
  check.expect_close %b, %e : tensor<7x0xf32>, tensor<7x0xf32>
  return
}

func.func @squeeze_unsqueeze() {
  %x = graph.constant dense<[[[1], [2]]]> : tensor<1x2x1xi8>
  %a = graph.squeeze %x : tensor<1x2x1xi8> -> tensor<2xi8>
  %b = graph.squeeze %x {axes = array<i64: 0>} : tensor<1x2x1xi8> -> tensor<2x1xi8>
  %c = graph.unsqueeze %a {axes = array<i64: 0, 2>} : tensor<2xi8> -> tensor<1x2x1xi8>
  %ea = graph.constant dense<[1, 2]> : tensor<2xi8>
  %eb = graph.constant dense<[[1], [2]]> : tensor<2x1xi8>
  check.expect_close %a, %ea : tensor<2xi8>, tensor<2xi8>
  check.expect_close %b, %eb : tensor<2x1xi8>, tensor<2x1xi8>
  check.expect_close %c, %x : tensor<1x2x1xi8>, tensor<1x2x1xi8>
  return
}

func.func @transpose() {
  %x = graph.constant dense<[[[1, 2, 3], [4, 5, 6]]]> : tensor<1x2x3xi32>
  %y = graph.transpose %x {permutation = array<i64: 2, 0, 1>} : tensor<1x2x3xi32> -> tensor<3x1x2xi32>
  %e = graph.constant dense<[[[1, 4]], [[2, 5]], [[3, 6]]]> : tensor<3x1x2xi32>
  check.expect_close %y, %e : tensor<3x1x2xi32>, tensor<3x1x2xi32>
  return
}

// ONNX Expand widens both ways: the 1 of the shape keeps the input's 3.
func.func @broadcast_both_ways() {
  %x = graph.constant dense<[[1], [2], [3]]> : tensor<3x1xi32>
  %y = graph.broadcast %x {shape = array<i64: 2, 1, 2>} : tensor<3x1xi32> -> tensor<2x3x2xi32>
  %e = graph.constant dense<[[[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 2], [3, 3]]]> : tensor<2x3x2xi32>
  check.expect_close %y, %e : tensor<2x3x2xi32>, tensor<2x3x2xi32>
  %z = graph.broadcast %x {shape = array<i64: 3, 0>} : tensor<3x1xi32> -> tensor<3x0xi32>
  %ez = graph.constant dense<> : tensor<3x0xi32>
  check.expect_close %z, %ez : tensor<3x0xi32>, tensor<3x0xi32>
  return
}

func.func @slice() {
  %x = graph.constant dense<[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]> : tensor<2x5xi32>
  // [:, 1:-1:2]
  %a = graph.slice %x {starts = array<i64: 1>, ends = array<i64: -1>, steps = array<i64: 2>, axes = array<i64: 1>}
    : tensor<2x5xi32> -> tensor<2x2xi32>
  %ea = graph.constant dense<[[1, 3], [6, 8]]> : tensor<2x2xi32>
  check.expect_close %a, %ea : tensor<2x2xi32>, tensor<2x2xi32>
  // [::-1, ::-3]
  %b = graph.slice %x {starts = array<i64: -1, 9223372036854775807>, ends = array<i64: -9223372036854775808, -9223372036854775808>,
                       steps = array<i64: -1, -3>, axes = array<i64: 0, 1>} : tensor<2x5xi32> -> tensor<2x2xi32>
  %eb = graph.constant dense<[[9, 6], [4, 1]]> : tensor<2x2xi32>
  check.expect_close %b, %eb : tensor<2x2xi32>, tensor<2x2xi32>
  // Empty, and a step far beyond the dim.
  %c = graph.slice %x {starts = array<i64: 4>, ends = array<i64: 2>, axes = array<i64: 1>} : tensor<2x5xi32> -> tensor<2x0xi32>
  %ec = graph.constant dense<> : tensor<2x0xi32>
  check.expect_close %c, %ec : tensor<2x0xi32>, tensor<2x0xi32>
  %d = graph.slice %x {starts = array<i64: 3>, ends = array<i64: -9223372036854775808>, steps = array<i64: -9223372036854775808>,
                       axes = array<i64: 1>} : tensor<2x5xi32> -> tensor<2x1xi32>
  %ed = graph.constant dense<[[3], [8]]> : tensor<2x1xi32>
  check.expect_close %d, %ed : tensor<2x1xi32>, tensor<2x1xi32>
  return
}

func.func @slice_computed_bounds() {
  %x = graph.constant dense<[10, 11, 12, 13, 14]> : tensor<5xi32>
  %one = graph.constant dense<1> : tensor<1xi64>
  %two = graph.binary add %one, %one : tensor<1xi64>, tensor<1xi64> -> tensor<1xi64>
  %y = graph.slice %x starts(%two : tensor<1xi64>) {ends = array<i64: -1>, axes = array<i64: 0>} : tensor<5xi32> -> tensor<?xi32>
  %e = graph.constant dense<[12, 13]> : tensor<2xi32>
  check.expect_close %y, %e : tensor<?xi32>, tensor<2xi32>
  return
}

func.func @concat() {
  %x = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %y = graph.constant dense<[[5], [6]]> : tensor<2x1xi32>
  %empty = graph.constant dense<> : tensor<2x0xi32>
  %z = graph.concat %x, %empty, %y {axis = 1 : i64} : tensor<2x2xi32>, tensor<2x0xi32>, tensor<2x1xi32> -> tensor<2x3xi32>
  %e = graph.constant dense<[[1, 2, 5], [3, 4, 6]]> : tensor<2x3xi32>
  check.expect_close %z, %e : tensor<2x3xi32>, tensor<2x3xi32>
  return
}

func.func @pad() {
  %x = graph.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %v = graph.constant dense<-1.0> : tensor<f32>
  // One row above; the first column cropped, one column added.
  %a = graph.pad %x value(%v : tensor<f32>) {pads = array<i64: 1, -1, 0, 1>} : tensor<2x3xf32> -> tensor<3x3xf32>
  %ea = graph.constant dense<[[-1.0, -1.0, -1.0], [2.0, 3.0, -1.0], [5.0, 6.0, -1.0]]> : tensor<3x3xf32>
  check.expect_close %a, %ea : tensor<3x3xf32>, tensor<3x3xf32>
  // Cropped beyond the other end: only padding is left.
  %b = graph.pad %x {pads = array<i64: 0, -5, 0, 3>} : tensor<2x3xf32> -> tensor<2x1xf32>
  %eb = graph.constant dense<0.0> : tensor<2x1xf32>
  check.expect_close %b, %eb : tensor<2x1xf32>, tensor<2x1xf32>
  return
}
