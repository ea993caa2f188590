// Products, reductions, norms, attention, groups.
// RUN: gaudi-opt %s --run-checks

func.func @matmul() {
  %x = graph.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %y = graph.constant dense<[[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]]> : tensor<3x2xf32>
  %a = graph.matmul %x, %y : tensor<2x3xf32>, tensor<3x2xf32> -> tensor<2x2xf32>
  %ea = graph.constant dense<[[7.0, -1.0], [16.0, -1.0]]> : tensor<2x2xf32>
  check.expect_close %a, %ea : tensor<2x2xf32>, tensor<2x2xf32>
  %b = graph.matmul %x, %x {transpose_rhs} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x2xf32>
  %eb = graph.constant dense<[[14.0, 32.0], [32.0, 77.0]]> : tensor<2x2xf32>
  check.expect_close %b, %eb : tensor<2x2xf32>, tensor<2x2xf32>
  %c = graph.matmul %x, %x {transpose_lhs} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<3x3xf32>
  %ec = graph.constant dense<[[17.0, 22.0, 27.0], [22.0, 29.0, 36.0], [27.0, 36.0, 45.0]]> : tensor<3x3xf32>
  check.expect_close %c, %ec : tensor<3x3xf32>, tensor<3x3xf32>
  return
}

// Batch dims broadcast both ways; K = 0 gives zeros; more rows than a block of the evaluator.
func.func @matmul_batches() {
  %x = graph.constant dense<[[[[1.0], [2.0]]], [[[3.0], [4.0]]]]> : tensor<2x1x2x1xf32>
  %y = graph.constant dense<[[[10.0]], [[100.0]]]> : tensor<2x1x1xf32>
  %a = graph.matmul %x, %y {transpose_rhs} : tensor<2x1x2x1xf32>, tensor<2x1x1xf32> -> tensor<2x2x2x1xf32>
  %ea = graph.constant dense<[[[[10.0], [20.0]], [[100.0], [200.0]]], [[[30.0], [40.0]], [[300.0], [400.0]]]]> : tensor<2x2x2x1xf32>
  check.expect_close %a, %ea : tensor<2x2x2x1xf32>, tensor<2x2x2x1xf32>
  %k0 = graph.constant dense<> : tensor<2x0xf32>
  %b = graph.matmul %k0, %k0 {transpose_rhs} : tensor<2x0xf32>, tensor<2x0xf32> -> tensor<2x2xf32>
  %eb = graph.constant dense<0.0> : tensor<2x2xf32>
  check.expect_close %b, %eb : tensor<2x2xf32>, tensor<2x2xf32>
  %ones = graph.constant dense<1> : tensor<7x3xi64>
  %two = graph.constant dense<2> : tensor<3x521xi64>
  %c = graph.matmul %ones, %two : tensor<7x3xi64>, tensor<3x521xi64> -> tensor<7x521xi64>
  %ec = graph.constant dense<6> : tensor<7x521xi64>
  check.expect_close %c, %ec : tensor<7x521xi64>, tensor<7x521xi64>
  return
}

func.func @reduce() {
  %x = graph.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 0x7FC00000]]> : tensor<2x3xf32>
  %sum = graph.reduce sum %x {axes = array<i64: 0>} : tensor<2x3xf32> -> tensor<3xf32>
  %mean = graph.reduce mean %x {axes = array<i64: 1>, keepdims} : tensor<2x3xf32> -> tensor<2x1xf32>
  %max = graph.reduce max %x {axes = array<i64: 1>} : tensor<2x3xf32> -> tensor<2xf32>
  %min = graph.reduce min %x {axes = array<i64: 0, 1>} : tensor<2x3xf32> -> tensor<f32>
  %prod = graph.reduce prod %x {axes = array<i64: 0>} : tensor<2x3xf32> -> tensor<3xf32>
  %sumsq = graph.reduce sumsq %x {axes = array<i64: 1>} : tensor<2x3xf32> -> tensor<2xf32>
  %e0 = graph.constant dense<[5.0, 7.0, 0x7FC00000]> : tensor<3xf32>
  %e1 = graph.constant dense<[[2.0], [0x7FC00000]]> : tensor<2x1xf32>
  %e2 = graph.constant dense<[3.0, 0x7FC00000]> : tensor<2xf32>
  %e3 = graph.constant dense<0x7FC00000> : tensor<f32>
  %e4 = graph.constant dense<[4.0, 10.0, 0x7FC00000]> : tensor<3xf32>
  %e5 = graph.constant dense<[14.0, 0x7FC00000]> : tensor<2xf32>
  check.expect_close %sum, %e0 : tensor<3xf32>, tensor<3xf32>
  check.expect_close %mean, %e1 : tensor<2x1xf32>, tensor<2x1xf32>
  check.expect_close %max, %e2 : tensor<2xf32>, tensor<2xf32>
  check.expect_close %min, %e3 : tensor<f32>, tensor<f32>
  check.expect_close %prod, %e4 : tensor<3xf32>, tensor<3xf32>
  check.expect_close %sumsq, %e5 : tensor<2xf32>, tensor<2xf32>
  return
}

func.func @reduce_nothing() {
  %x = graph.constant dense<> : tensor<2x0xf32>
  %sum = graph.reduce sum %x {axes = array<i64: 1>} : tensor<2x0xf32> -> tensor<2xf32>
  %mean = graph.reduce mean %x {axes = array<i64: 1>} : tensor<2x0xf32> -> tensor<2xf32>
  %max = graph.reduce max %x {axes = array<i64: 1>} : tensor<2x0xf32> -> tensor<2xf32>
  %min = graph.reduce min %x {axes = array<i64: 1>} : tensor<2x0xf32> -> tensor<2xf32>
  %prod = graph.reduce prod %x {axes = array<i64: 1>} : tensor<2x0xf32> -> tensor<2xf32>
  %none = graph.reduce sum %x {axes = array<i64: 0>} : tensor<2x0xf32> -> tensor<0xf32>
  %e0 = graph.constant dense<0.0> : tensor<2xf32>
  %e1 = graph.constant dense<0x7FC00000> : tensor<2xf32>
  %e2 = graph.constant dense<0xFF800000> : tensor<2xf32>
  %e3 = graph.constant dense<0x7F800000> : tensor<2xf32>
  %e4 = graph.constant dense<1.0> : tensor<2xf32>
  %e5 = graph.constant dense<> : tensor<0xf32>
  check.expect_close %sum, %e0 : tensor<2xf32>, tensor<2xf32>
  check.expect_close %mean, %e1 : tensor<2xf32>, tensor<2xf32>
  check.expect_close %max, %e2 : tensor<2xf32>, tensor<2xf32>
  check.expect_close %min, %e3 : tensor<2xf32>, tensor<2xf32>
  check.expect_close %prod, %e4 : tensor<2xf32>, tensor<2xf32>
  check.expect_close %none, %e5 : tensor<0xf32>, tensor<0xf32>
  return
}

func.func @reduce_integers() {
  %x = graph.constant dense<[[7, -2, 2]]> : tensor<1x3xi8>
  %mean = graph.reduce mean %x {axes = array<i64: 1>} : tensor<1x3xi8> -> tensor<1xi8>
  %sumsq = graph.reduce sumsq %x {axes = array<i64: 1>} : tensor<1x3xi8> -> tensor<1xi8>
  %e0 = graph.constant dense<2> : tensor<1xi8>
  %e1 = graph.constant dense<57> : tensor<1xi8>
  check.expect_close %mean, %e0 : tensor<1xi8>, tensor<1xi8>
  check.expect_close %sumsq, %e1 : tensor<1xi8>, tensor<1xi8>
  %none = graph.constant dense<> : tensor<0xi8>
  %max = graph.reduce max %none {axes = array<i64: 0>} : tensor<0xi8> -> tensor<i8>
  %e2 = graph.constant dense<-128> : tensor<i8>
  check.expect_close %max, %e2 : tensor<i8>, tensor<i8>
  %u = graph.constant dense<[1, 18446744073709551615]> : tensor<2xui64>
  %umax = graph.reduce max %u {axes = array<i64: 0>} : tensor<2xui64> -> tensor<ui64>
  %e3 = graph.constant dense<18446744073709551615> : tensor<ui64>
  check.expect_close %umax, %e3 : tensor<ui64>, tensor<ui64>
  %b = graph.constant dense<[false, true]> : tensor<2xi1>
  %any = graph.reduce max %b {axes = array<i64: 0>} : tensor<2xi1> -> tensor<i1>
  %e4 = graph.constant dense<true> : tensor<i1>
  check.expect_close %any, %e4 : tensor<i1>, tensor<i1>
  return
}

func.func @arg_reduce() {
  %x = graph.constant dense<[[3.0, 1.0, 3.0], [0x7FC00000, 9.0, 0x7FC00000]]> : tensor<2x3xf32>
  %first = graph.arg_reduce %x {axis = 1 : i64} : tensor<2x3xf32> -> tensor<2xi64>
  %last = graph.arg_reduce %x {axis = 1 : i64, select_last, keepdims} : tensor<2x3xf32> -> tensor<2x1xi64>
  %min = graph.arg_reduce %x {axis = 1 : i64, min} : tensor<2x3xf32> -> tensor<2xi64>
  %e0 = graph.constant dense<[0, 0]> : tensor<2xi64>
  %e1 = graph.constant dense<[[2], [2]]> : tensor<2x1xi64>
  %e2 = graph.constant dense<[1, 0]> : tensor<2xi64>
  check.expect_close %first, %e0 : tensor<2xi64>, tensor<2xi64>
  check.expect_close %last, %e1 : tensor<2x1xi64>, tensor<2x1xi64>
  check.expect_close %min, %e2 : tensor<2xi64>, tensor<2xi64>
  return
}

// exp would overflow without the shift; a row of -inf is NaN; one NaN spoils its row only; ln(1 + e^-1) = 0.31326...
func.func @softmax() {
  %x = graph.constant dense<[[1000.0, 1000.0], [0xFF800000, 0xFF800000], [0xFF800000, 5.0], [0x7FC00000, 1.0]]> : tensor<4x2xf32>
  %y = graph.softmax %x {axis = 1 : i64} : tensor<4x2xf32> -> tensor<4x2xf32>
  %e = graph.constant dense<[[0.5, 0.5], [0x7FC00000, 0x7FC00000], [0.0, 1.0], [0x7FC00000, 0x7FC00000]]> : tensor<4x2xf32>
  check.expect_close %y, %e : tensor<4x2xf32>, tensor<4x2xf32>
  %z = graph.constant dense<[1.0, 0.0]> : tensor<2xf32>
  %l = graph.softmax %z {axis = 0 : i64, log} : tensor<2xf32> -> tensor<2xf32>
  %el = graph.constant dense<[-0.313261688, -1.31326169]> : tensor<2xf32>
  check.expect_close %l, %el {rtol = 1.0e-7 : f64} : tensor<2xf32>, tensor<2xf32>
  return
}

// Mean 2, variance 2/3 (population), so 1 -> -sqrt(3/2).
func.func @layer_norm() {
  %x = graph.constant dense<[[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]> : tensor<2x3xf32>
  %s = graph.constant dense<[1.0, 1.0, 2.0]> : tensor<3xf32>
  %b = graph.constant dense<10.0> : tensor<1xf32>
  %y = graph.layer_norm %x scale(%s : tensor<3xf32>) bias(%b : tensor<1xf32>) {axis = 1 : i64, epsilon = 1.0e-12 : f64}
    : tensor<2x3xf32> -> tensor<2x3xf32>
  %e = graph.constant dense<[[8.77525513, 10.0, 12.4494897], [10.0, 10.0, 10.0]]> : tensor<2x3xf32>
  check.expect_close %y, %e {rtol = 1.0e-7 : f64} : tensor<2x3xf32>, tensor<2x3xf32>
  return
}

// Both dims are normalised together: mean square (1 + 49) / 2 = 25. In fp16 the squares of 300 would overflow.
func.func @rms_norm() {
  %x = graph.constant dense<[[1.0], [7.0]]> : tensor<2x1xf32>
  %y = graph.rms_norm %x {axis = 0 : i64, epsilon = 0.0 : f64} : tensor<2x1xf32> -> tensor<2x1xf32>
  %e = graph.constant dense<[[0.2], [1.4]]> : tensor<2x1xf32>
  check.expect_close %y, %e {rtol = 1.0e-7 : f64} : tensor<2x1xf32>, tensor<2x1xf32>
  %h = graph.constant dense<[300.0, -300.0]> : tensor<2xf16>
  %z = graph.rms_norm %h {axis = 0 : i64, epsilon = 1.0e-6 : f64} : tensor<2xf16> -> tensor<2xf16>
  %ez = graph.constant dense<[1.0, -1.0]> : tensor<2xf16>
  check.expect_close %z, %ez : tensor<2xf16>, tensor<2xf16>
  return
}

// Equal scores average the visible values; causal query i sees keys 0..i.
func.func @attention_causal() {
  %q = graph.constant dense<0.0> : tensor<1x3x1x1xf32>
  %v = graph.constant dense<[[[[3.0]], [[5.0]], [[10.0]]]]> : tensor<1x3x1x1xf32>
  %y = graph.attention %q, %q, %v {scale = 1.0 : f64, causal} : tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32> -> tensor<1x3x1x1xf32>
  %e = graph.constant dense<[[[[3.0]], [[4.0]], [[6.0]]]]> : tensor<1x3x1x1xf32>
  check.expect_close %y, %e : tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>
  return
}

// One query after three keys sees all of them when aligned to the bottom right, one otherwise.
func.func @attention_alignment() {
  %q = graph.constant dense<0.0> : tensor<1x1x1x1xf32>
  %k = graph.constant dense<0.0> : tensor<1x1x3x1xf32>
  %v = graph.constant dense<[[[[3.0], [5.0], [10.0]]]]> : tensor<1x1x3x1xf32>
  %a = graph.attention %q, %k, %v {scale = 1.0 : f64, heads_first, causal, bottom_right}
    : tensor<1x1x1x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32> -> tensor<1x1x1x1xf32>
  %b = graph.attention %q, %k, %v {scale = 1.0 : f64, heads_first, causal}
    : tensor<1x1x1x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32> -> tensor<1x1x1x1xf32>
  %ea = graph.constant dense<6.0> : tensor<1x1x1x1xf32>
  %eb = graph.constant dense<3.0> : tensor<1x1x1x1xf32>
  check.expect_close %a, %ea : tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
  check.expect_close %b, %eb : tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
  return
}

// Four query heads share two key heads: heads 0 and 1 read value 1, heads 2 and 3 value 2.
func.func @attention_grouped_heads() {
  %q = graph.constant dense<1.0> : tensor<1x4x1x1xf32>
  %k = graph.constant dense<1.0> : tensor<1x2x1x1xf32>
  %v = graph.constant dense<[[[[1.0, 10.0]], [[2.0, 20.0]]]]> : tensor<1x2x1x2xf32>
  %y = graph.attention %q, %k, %v {scale = 1.0 : f64, heads_first} : tensor<1x4x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x2xf32> -> tensor<1x4x1x2xf32>
  %e = graph.constant dense<[[[[1.0, 10.0]], [[1.0, 10.0]], [[2.0, 20.0]], [[2.0, 20.0]]]]> : tensor<1x4x1x2xf32>
  check.expect_close %y, %e : tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>
  return
}

// A float mask is added after scaling (ln 3: weights 3 to 1); a bool mask hides; a row with nothing left is NaN or zero.
func.func @attention_masks() {
  %q = graph.constant dense<0.0> : tensor<1x2x1x1xf32>
  %v = graph.constant dense<[[[[4.0]], [[8.0]]]]> : tensor<1x2x1x1xf32>
  %m = graph.constant dense<[1.09861229, 0.0]> : tensor<2xf32>
  %a = graph.attention %q, %q, %v mask(%m : tensor<2xf32>) {scale = 1.0 : f64}
    : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>
  %ea = graph.constant dense<5.0> : tensor<1x2x1x1xf32>
  check.expect_close %a, %ea {rtol = 1.0e-6 : f64} : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>
  %n = graph.constant dense<[[false, true], [false, false]]> : tensor<2x2xi1>
  %b = graph.attention %q, %q, %v mask(%n : tensor<2x2xi1>) {scale = 1.0 : f64}
    : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>
  %eb = graph.constant dense<[[[[8.0]], [[0x7FC00000]]]]> : tensor<1x2x1x1xf32>
  check.expect_close %b, %eb : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>
  %c = graph.attention %q, %q, %v mask(%n : tensor<2x2xi1>) {scale = 1.0 : f64, zero_masked_rows}
    : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>
  %ec = graph.constant dense<[[[[8.0]], [[0.0]]]]> : tensor<1x2x1x1xf32>
  check.expect_close %c, %ec : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>
  return
}

func.func @group() {
  %x = graph.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %y:2 = graph.group "pointwise"(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>):
    %c = graph.constant dense<3.0> : tensor<f32>
    %0 = graph.binary mul %a, %c : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
    %1 = graph.unary relu %0 : tensor<2xf32> -> tensor<2xf32>
    graph.yield %0, %1 : tensor<2xf32>, tensor<2xf32>
  }
  %e0 = graph.constant dense<[3.0, -6.0]> : tensor<2xf32>
  %e1 = graph.constant dense<[3.0, 0.0]> : tensor<2xf32>
  check.expect_close %y#0, %e0 : tensor<2xf32>, tensor<2xf32>
  check.expect_close %y#1, %e1 : tensor<2xf32>, tensor<2xf32>
  return
}
