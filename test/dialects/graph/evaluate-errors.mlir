// What only the values can show is a diagnostic at the op, never a crash.
// RUN: gaudi-opt %s -split-input-file -verify-diagnostics --run-checks

func.func @gather_index() {
  %x = graph.constant dense<1.0> : tensor<3xf32>
  %i = graph.constant dense<2> : tensor<1xi64>
  %j = graph.binary add %i, %i : tensor<1xi64>, tensor<1xi64> -> tensor<1xi64>
  // expected-error @+1 {{index 4 is outside [-3, 3)}}
  %y = graph.gather %x, %j {axis = 0 : i64} : tensor<3xf32>, tensor<1xi64> -> tensor<1xf32>
  check.expect_finite %y : tensor<1xf32>
  return
}

// -----

func.func @scatter_index() {
  %x = graph.constant dense<1.0> : tensor<3xf32>
  %i = graph.constant dense<-4> : tensor<1x1xi64>
  %u = graph.constant dense<1.0> : tensor<1xf32>
  // expected-error @+1 {{index -4 is outside [-3, 3)}}
  %y = graph.scatter_nd %x, %i, %u : tensor<3xf32>, tensor<1x1xi64>, tensor<1xf32> -> tensor<3xf32>
  check.expect_finite %y : tensor<3xf32>
  return
}

// -----

func.func @reshape_count() {
  %x = graph.constant dense<1.0> : tensor<6xf32>
  %a = graph.constant dense<2> : tensor<1xi64>
  %s = graph.binary mul %a, %a : tensor<1xi64>, tensor<1xi64> -> tensor<1xi64>
  // expected-error @+1 {{element counts differ: cannot reshape 6 to [4]}}
  %y = graph.reshape %x shape(%s : tensor<1xi64>) : tensor<6xf32> -> tensor<?xf32>
  check.expect_finite %y : tensor<?xf32>
  return
}

// -----

func.func @slice_step() {
  %x = graph.constant dense<1.0> : tensor<6xf32>
  %a = graph.constant dense<1> : tensor<1xi64>
  %s = graph.binary sub %a, %a : tensor<1xi64>, tensor<1xi64> -> tensor<1xi64>
  // expected-error @+1 {{step of axis 0 is 0}}
  %y = graph.slice %x steps(%s : tensor<1xi64>) {starts = array<i64: 0>, ends = array<i64: 6>, axes = array<i64: 0>}
    : tensor<6xf32> -> tensor<?xf32>
  check.expect_finite %y : tensor<?xf32>
  return
}

// -----

func.func @endless_range() {
  %a = graph.constant dense<1.0> : tensor<f32>
  %d = graph.binary sub %a, %a : tensor<f32>, tensor<f32> -> tensor<f32>
  // expected-error @+1 {{range from 0.000000e+00 to 1.000000e+00 by 0.000000e+00 does not end or is too long}}
  %y = graph.range %d, %a, %d : tensor<f32>, tensor<f32>, tensor<f32> -> tensor<?xf32>
  check.expect_finite %y : tensor<?xf32>
  return
}

// -----

func.func @inner_dimensions() {
  %x = graph.constant dense<1.0> : tensor<2x3xf32>
  %d = graph.unary relu %x : tensor<2x3xf32> -> tensor<2x?xf32>
  // expected-error @+1 {{inner dimensions differ: 3 vs 2}}
  %y = graph.matmul %d, %x : tensor<2x?xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  check.expect_finite %y : tensor<2x3xf32>
  return
}

// -----

// 2^33 elements: a splat costs nothing as an attribute, 64 GiB as a value.
func.func @too_large() {
  %x = graph.constant dense<1.0> : tensor<8589934592xf32>
  // expected-error @-1 {{cannot be evaluated: 8589934592 elements are more than 2^32}}
  check.expect_finite %x : tensor<8589934592xf32>
  return
}

// -----

func.func @foreign_op() {
  // expected-error @+1 {{cannot be evaluated: no op of the graph dialect}}
  %x = func.call @f() : () -> tensor<3xf32>
  check.expect_finite %x : tensor<3xf32>
  return
}
func.func private @f() -> tensor<3xf32>

// -----

// A declared type may know more than can be inferred; it must not be wrong.
func.func @declared_shape() {
  %x = graph.constant dense<1.0> : tensor<3xf32>
  %d = graph.unary relu %x : tensor<3xf32> -> tensor<?xf32>
  // expected-error @+1 {{result has shape 3, declared 5}}
  %y = graph.unary relu %d : tensor<?xf32> -> tensor<5xf32>
  check.expect_finite %y : tensor<5xf32>
  return
}
