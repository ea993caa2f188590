// RUN: gaudi-opt %s -split-input-file -verify-diagnostics

func.func @expect_close_c1_element(%x: tensor<3xf32>, %y: tensor<3xf16>) {
  // expected-error @+1 {{types differ: 'tensor<3xf32>' vs 'tensor<3xf16>'}}
  check.expect_close %x, %y : tensor<3xf32>, tensor<3xf16>
  return
}

// -----

func.func @expect_close_c1_shape(%x: tensor<3xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{types differ: 'tensor<3xf32>' vs 'tensor<5xf32>'}}
  check.expect_close %x, %y : tensor<3xf32>, tensor<5xf32>
  return
}

// -----

func.func @expect_close_c2(%x: tensor<3xf32>) {
  // expected-error @+1 {{rtol is -1.000000e+00, expected a finite number >= 0}}
  check.expect_close %x, %x {rtol = -1.0 : f64} : tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @expect_close_c2_infinite(%x: tensor<3xf32>) {
  // expected-error @+1 {{atol is INF, expected a finite number >= 0}}
  check.expect_close %x, %x {atol = 0x7FF0000000000000 : f64} : tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @expect_finite_ints(%x: tensor<3xi32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of}}
  check.expect_finite %x : tensor<3xi32>
  return
}
