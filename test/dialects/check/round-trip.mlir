// Both checks print as they parse; default tolerances stay implicit.
// RUN: gaudi-opt %s | gaudi-opt | FileCheck %s
// RUN: gaudi-opt %s --mlir-print-op-generic | gaudi-opt | FileCheck %s

// CHECK-LABEL: @checks
func.func @checks(%x: tensor<?x3xf32>, %y: tensor<2x3xf32>) {
  // CHECK: check.expect_close %{{.*}}, %{{.*}} : tensor<?x3xf32>, tensor<2x3xf32>
  check.expect_close %x, %y : tensor<?x3xf32>, tensor<2x3xf32>
  // CHECK: check.expect_close %{{.*}}, %{{.*}} {atol = 5.000000e-01 : f64, rtol = 2.500000e-01 : f64}
  check.expect_close %x, %y {atol = 0.5 : f64, rtol = 0.25 : f64} : tensor<?x3xf32>, tensor<2x3xf32>
  // CHECK: check.expect_finite %{{.*}} : tensor<2x3xf32>
  check.expect_finite %y : tensor<2x3xf32>
  return
}
