// Generators, gathers, scatter, triangles and running sums.
// RUN: gaudi-opt %s --run-checks

func.func @fill() {
  %s = graph.constant dense<[2, 3]> : tensor<2xi64>
  %x = graph.fill %s {value = dense<0x7C00> : tensor<1xf16>} : tensor<2xi64> -> tensor<2x3xf16>
  %e = graph.constant dense<0x7C00> : tensor<2x3xf16>
  check.expect_close %x, %e : tensor<2x3xf16>, tensor<2x3xf16>
  return
}

func.func @fill_rank_0() {
  %s = graph.constant dense<> : tensor<0xi64>
  %x = graph.fill %s {value = dense<7> : tensor<1xi32>} : tensor<0xi64> -> tensor<i32>
  %e = graph.constant dense<7> : tensor<i32>
  check.expect_close %x, %e : tensor<i32>, tensor<i32>
  return
}

func.func @range() {
  %a = graph.constant dense<7> : tensor<i64>
  %b = graph.constant dense<0> : tensor<i64>
  %d = graph.constant dense<-3> : tensor<i64>
  %x = graph.range %a, %b, %d : tensor<i64>, tensor<i64>, tensor<i64> -> tensor<3xi64>
  %e = graph.constant dense<[7, 4, 1]> : tensor<3xi64>
  check.expect_close %x, %e : tensor<3xi64>, tensor<3xi64>
  // Away from the limit: empty.
  %y = graph.range %b, %a, %d : tensor<i64>, tensor<i64>, tensor<i64> -> tensor<0xi64>
  %ey = graph.constant dense<> : tensor<0xi64>
  check.expect_close %y, %ey : tensor<0xi64>, tensor<0xi64>
  return
}

// The distance of the ends does not fit into int64.
func.func @range_over_all_of_int64() {
  %a = graph.constant dense<-9223372036854775808> : tensor<i64>
  %b = graph.constant dense<9223372036854775807> : tensor<i64>
  %x = graph.range %a, %b, %b : tensor<i64>, tensor<i64>, tensor<i64> -> tensor<3xi64>
  %e = graph.constant dense<[-9223372036854775808, -1, 9223372036854775806]> : tensor<3xi64>
  check.expect_close %x, %e : tensor<3xi64>, tensor<3xi64>
  return
}

func.func @range_of_floats() {
  %a = graph.constant dense<1.0> : tensor<f32>
  %b = graph.constant dense<2.0> : tensor<f32>
  %d = graph.constant dense<0.3> : tensor<f32>
  %x = graph.range %a, %b, %d : tensor<f32>, tensor<f32>, tensor<f32> -> tensor<4xf32>
  %e = graph.constant dense<[1.0, 1.3, 1.6, 1.9]> : tensor<4xf32>
  check.expect_close %x, %e {rtol = 1.0e-7 : f64} : tensor<4xf32>, tensor<4xf32>
  return
}

// Negative indices, rank-0 indices, an axis in the middle.
func.func @gather() {
  %x = graph.constant dense<[[[0, 1], [2, 3], [4, 5]]]> : tensor<1x3x2xi32>
  %i = graph.constant dense<[[2, -3], [-1, 1]]> : tensor<2x2xi32>
  %y = graph.gather %x, %i {axis = 1 : i64} : tensor<1x3x2xi32>, tensor<2x2xi32> -> tensor<1x2x2x2xi32>
  %e = graph.constant dense<[[[[4, 5], [0, 1]], [[4, 5], [2, 3]]]]> : tensor<1x2x2x2xi32>
  check.expect_close %y, %e : tensor<1x2x2x2xi32>, tensor<1x2x2x2xi32>
  %n = graph.constant dense<-1> : tensor<i64>
  %z = graph.gather %x, %n {axis = 2 : i64} : tensor<1x3x2xi32>, tensor<i64> -> tensor<1x3xi32>
  %ez = graph.constant dense<[[1, 3, 5]]> : tensor<1x3xi32>
  check.expect_close %z, %ez : tensor<1x3xi32>, tensor<1x3xi32>
  return
}

func.func @gather_elements() {
  %x = graph.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %i = graph.constant dense<[[2, 0], [-1, 1]]> : tensor<2x2xi64>
  %y = graph.gather_elements %x, %i {axis = 1 : i64} : tensor<2x3xi32>, tensor<2x2xi64> -> tensor<2x2xi32>
  %e = graph.constant dense<[[3, 1], [6, 5]]> : tensor<2x2xi32>
  check.expect_close %y, %e : tensor<2x2xi32>, tensor<2x2xi32>
  %j = graph.constant dense<[[1, 0]]> : tensor<1x2xi64>
  %z = graph.gather_elements %x, %j {axis = 0 : i64} : tensor<2x3xi32>, tensor<1x2xi64> -> tensor<1x2xi32>
  %ez = graph.constant dense<[[4, 2]]> : tensor<1x2xi32>
  check.expect_close %z, %ez : tensor<1x2xi32>, tensor<1x2xi32>
  return
}

func.func @gather_nd() {
  %x = graph.constant dense<[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]> : tensor<2x2x2xi32>
  %i = graph.constant dense<[[0, 1], [1, -2]]> : tensor<2x2xi64>
  %y = graph.gather_nd %x, %i : tensor<2x2x2xi32>, tensor<2x2xi64> -> tensor<2x2xi32>
  %e = graph.constant dense<[[2, 3], [4, 5]]> : tensor<2x2xi32>
  check.expect_close %y, %e : tensor<2x2xi32>, tensor<2x2xi32>
  %j = graph.constant dense<[[1], [0]]> : tensor<2x1xi64>
  %z = graph.gather_nd %x, %j {batch_dims = 1 : i64} : tensor<2x2x2xi32>, tensor<2x1xi64> -> tensor<2x2xi32>
  %ez = graph.constant dense<[[2, 3], [4, 5]]> : tensor<2x2xi32>
  check.expect_close %z, %ez : tensor<2x2xi32>, tensor<2x2xi32>
  return
}

func.func @scatter_nd() {
  %x = graph.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %i = graph.constant dense<[[2], [-3]]> : tensor<2x1xi64>
  %u = graph.constant dense<[[7, 8], [9, 10]]> : tensor<2x2xi32>
  %y = graph.scatter_nd %x, %i, %u : tensor<3x2xi32>, tensor<2x1xi64>, tensor<2x2xi32> -> tensor<3x2xi32>
  %e = graph.constant dense<[[9, 10], [3, 4], [7, 8]]> : tensor<3x2xi32>
  check.expect_close %y, %e : tensor<3x2xi32>, tensor<3x2xi32>
  %j = graph.constant dense<[[1, 1]]> : tensor<1x2xi64>
  %v = graph.constant dense<[0]> : tensor<1xi32>
  %z = graph.scatter_nd %x, %j, %v : tensor<3x2xi32>, tensor<1x2xi64>, tensor<1xi32> -> tensor<3x2xi32>
  %ez = graph.constant dense<[[1, 2], [3, 0], [5, 6]]> : tensor<3x2xi32>
  check.expect_close %z, %ez : tensor<3x2xi32>, tensor<3x2xi32>
  return
}

func.func @trilu() {
  %x = graph.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %u = graph.trilu %x {k = 1 : i64, upper} : tensor<2x3xi32> -> tensor<2x3xi32>
  %l = graph.trilu %x {k = -1 : i64} : tensor<2x3xi32> -> tensor<2x3xi32>
  %all = graph.trilu %x {k = -9223372036854775808 : i64, upper} : tensor<2x3xi32> -> tensor<2x3xi32>
  %eu = graph.constant dense<[[0, 2, 3], [0, 0, 6]]> : tensor<2x3xi32>
  %el = graph.constant dense<[[0, 0, 0], [4, 0, 0]]> : tensor<2x3xi32>
  check.expect_close %u, %eu : tensor<2x3xi32>, tensor<2x3xi32>
  check.expect_close %l, %el : tensor<2x3xi32>, tensor<2x3xi32>
  check.expect_close %all, %x : tensor<2x3xi32>, tensor<2x3xi32>
  return
}

func.func @cumsum() {
  %x = graph.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %a = graph.cumsum %x {axis = 1 : i64} : tensor<2x3xi32> -> tensor<2x3xi32>
  %b = graph.cumsum %x {axis = 1 : i64, exclusive, reverse} : tensor<2x3xi32> -> tensor<2x3xi32>
  %c = graph.cumsum %x {axis = 0 : i64, exclusive} : tensor<2x3xi32> -> tensor<2x3xi32>
  %ea = graph.constant dense<[[1, 3, 6], [4, 9, 15]]> : tensor<2x3xi32>
  %eb = graph.constant dense<[[5, 3, 0], [11, 6, 0]]> : tensor<2x3xi32>
  %ec = graph.constant dense<[[0, 0, 0], [1, 2, 3]]> : tensor<2x3xi32>
  check.expect_close %a, %ea : tensor<2x3xi32>, tensor<2x3xi32>
  check.expect_close %b, %eb : tensor<2x3xi32>, tensor<2x3xi32>
  check.expect_close %c, %ec : tensor<2x3xi32>, tensor<2x3xi32>
  return
}
