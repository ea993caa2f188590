// What holds is silent; what does not hold names the worst element. Functions with arguments are not run.
// RUN: gaudi-opt %s -split-input-file -verify-diagnostics --run-checks

func.func @holds() {
  %x = graph.constant dense<[1.0, 0x7FC00000, 0x7F800000, -0.0]> : tensor<4xf32>
  check.expect_close %x, %x : tensor<4xf32>, tensor<4xf32>
  %a = graph.constant dense<[100.0, 1.0]> : tensor<2xf32>
  %b = graph.constant dense<[101.0, 1.25]> : tensor<2xf32>
  check.expect_close %a, %b {atol = 0.25 : f64, rtol = 0.01 : f64} : tensor<2xf32>, tensor<2xf32>
  check.expect_finite %a : tensor<2xf32>
  return
}

func.func @not_run(%x: tensor<2xf32>) {
  check.expect_finite %x : tensor<2xf32>
  return
}

// -----

func.func @worst_element() {
  %x = graph.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %e = graph.constant dense<[[1.0, 2.5, 3.0], [4.0, 9.0, 6.0]]> : tensor<2x3xf32>
  // expected-error @+1 {{values differ at [1, 1]: found 5, expected 9 (2 of 6 elements differ)}}
  check.expect_close %x, %e {atol = 1.0e-3 : f64} : tensor<2x3xf32>, tensor<2x3xf32>
  return
}

// -----

func.func @sign_of_zero() {
  %x = graph.constant dense<0.0> : tensor<f32>
  %e = graph.constant dense<-0.0> : tensor<f32>
  // expected-error @+1 {{values differ at []: found 0, expected -0 (1 of 1 elements differ)}}
  check.expect_close %x, %e : tensor<f32>, tensor<f32>
  check.expect_close %x, %e {atol = 1.0e-9 : f64} : tensor<f32>, tensor<f32>
  return
}

// -----

func.func @nan_matches_nan_only() {
  %x = graph.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>
  %e = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // expected-error @+1 {{values differ at [1]: found nan, expected 2 (1 of 2 elements differ)}}
  check.expect_close %x, %e {atol = 1.0e9 : f64} : tensor<2xf32>, tensor<2xf32>
  // expected-error @+1 {{value at [1] is nan, expected a finite one}}
  check.expect_finite %x : tensor<2xf32>
  return
}

// -----

func.func @infinities() {
  %x = graph.constant dense<0x7F800000> : tensor<f32>
  %e = graph.constant dense<0xFF800000> : tensor<f32>
  // expected-error @+1 {{values differ at []: found inf, expected -inf (1 of 1 elements differ)}}
  check.expect_close %x, %e {rtol = 1.0 : f64} : tensor<f32>, tensor<f32>
  return
}

// -----

// 2^63 - 1 and 2^63 - 2 are one fp64 value.
func.func @large_integers() {
  %x = graph.constant dense<9223372036854775807> : tensor<i64>
  %e = graph.constant dense<9223372036854775806> : tensor<i64>
  // expected-error @+1 {{values differ at []: found 9223372036854775807, expected 9223372036854775806 (1 of 1 elements differ)}}
  check.expect_close %x, %e : tensor<i64>, tensor<i64>
  return
}

// -----

func.func @shapes_known_at_run_time() {
  %x = graph.constant dense<1.0> : tensor<3xf32>
  %y = graph.unary relu %x : tensor<3xf32> -> tensor<?xf32>
  %e = graph.constant dense<1.0> : tensor<5xf32>
  // expected-error @+1 {{shapes differ: found 'tensor<3xf32>', expected 'tensor<5xf32>'}}
  check.expect_close %y, %e : tensor<?xf32>, tensor<5xf32>
  return
}

// -----

func.func @weight_without_file() {
  // expected-error @+1 {{weight 'w' cannot be read: no file is open}}
  %x = graph.constant #graph.weight<"w", 0, 0, 12> : tensor<3xf32>
  check.expect_finite %x : tensor<3xf32>
  return
}
