// Every op parses, prints and parses again to the same text.
// RUN: gaudi-opt %s | gaudi-opt | FileCheck %s
// RUN: gaudi-opt %s --mlir-print-op-generic | gaudi-opt | FileCheck %s

// CHECK-LABEL: @elementwise
func.func @elementwise(%x: tensor<2x3xf32>, %c: tensor<2x1xi1>) -> tensor<2x3xf16> {
  // CHECK: graph.unary gelu %{{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
  %0 = graph.unary gelu %x : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: graph.binary add %{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.binary add %0, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: graph.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x1xi1>, tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = graph.select %c, %1, %x : tensor<2x1xi1>, tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: graph.cast %{{.*}} {to = f16} : tensor<2x3xf32> -> tensor<2x3xf16>
  %3 = graph.cast %2 {to = f16} : tensor<2x3xf32> -> tensor<2x3xf16>
  return %3 : tensor<2x3xf16>
}

// CHECK-LABEL: @shapes
func.func @shapes(%x: tensor<?x1x3xf32>, %s: tensor<2xi64>, %b: tensor<1xi64>, %p: tensor<6xi64>, %v: tensor<f32>) {
  // CHECK: graph.shape_of %{{.*}} {end = 2 : i64, start = -3 : i64} : tensor<?x1x3xf32> -> tensor<2xi64>
  %0 = graph.shape_of %x {start = -3 : i64, end = 2 : i64} : tensor<?x1x3xf32> -> tensor<2xi64>
  // CHECK: graph.reshape %{{.*}} shape(%{{.*}} : tensor<2xi64>) : tensor<?x1x3xf32> -> tensor<?x?xf32>
  %1 = graph.reshape %x shape(%s : tensor<2xi64>) : tensor<?x1x3xf32> -> tensor<?x?xf32>
  // CHECK: graph.reshape %{{.*}} {shape = array<i64: 0, -1>} : tensor<?x1x3xf32> -> tensor<?x3xf32>
  %2 = graph.reshape %x {shape = array<i64: 0, -1>} : tensor<?x1x3xf32> -> tensor<?x3xf32>
  // CHECK: graph.squeeze %{{.*}} {axes = array<i64: 1>}
  %3 = graph.squeeze %x {axes = array<i64: 1>} : tensor<?x1x3xf32> -> tensor<?x3xf32>
  // CHECK: graph.unsqueeze %{{.*}} {axes = array<i64: 0, 2>}
  %4 = graph.unsqueeze %2 {axes = array<i64: 0, 2>} : tensor<?x3xf32> -> tensor<1x?x1x3xf32>
  // CHECK: graph.transpose %{{.*}} {permutation = array<i64: 2, 0, 1>}
  %5 = graph.transpose %x {permutation = array<i64: 2, 0, 1>} : tensor<?x1x3xf32> -> tensor<3x?x1xf32>
  // CHECK: graph.broadcast %{{.*}} shape(%{{.*}} : tensor<2xi64>)
  %6 = graph.broadcast %v shape(%s : tensor<2xi64>) : tensor<f32> -> tensor<?x?xf32>
  // CHECK: graph.slice %{{.*}} starts(%{{.*}} : tensor<1xi64>) ends(%{{.*}} : tensor<1xi64>) {axes = array<i64: 0>
  %7 = graph.slice %x starts(%b : tensor<1xi64>) ends(%b : tensor<1xi64>) {axes = array<i64: 0>}
    : tensor<?x1x3xf32> -> tensor<?x1x3xf32>
  // CHECK: graph.concat %{{.*}}, %{{.*}} {axis = 1 : i64} : tensor<?x1x3xf32>, tensor<?x1x3xf32> -> tensor<?x2x3xf32>
  %8 = graph.concat %x, %7 {axis = 1 : i64} : tensor<?x1x3xf32>, tensor<?x1x3xf32> -> tensor<?x2x3xf32>
  // CHECK: graph.pad %{{.*}} pads(%{{.*}} : tensor<6xi64>) value(%{{.*}} : tensor<f32>)
  %9 = graph.pad %x pads(%p : tensor<6xi64>) value(%v : tensor<f32>) : tensor<?x1x3xf32> -> tensor<?x?x?xf32>
  return
}

// CHECK-LABEL: @data
func.func @data(%x: tensor<5x3xf32>, %i: tensor<2x1xi64>, %s: tensor<2xi64>, %u: tensor<2x3xf32>, %n: tensor<i64>) {
  // CHECK: graph.constant dense<[1, 2]> : tensor<2xi32>
  %0 = graph.constant dense<[1, 2]> : tensor<2xi32>
  // CHECK: graph.constant #graph.weight<"w \22quoted\22", 1, 64, 12> : tensor<2x3xf16>
  %1 = graph.constant #graph.weight<"w \22quoted\22", 1, 64, 12> : tensor<2x3xf16>
  // CHECK: graph.fill %{{.*}} {value = dense<1.500000e+00> : tensor<1xf32>} : tensor<2xi64> -> tensor<?x?xf32>
  %2 = graph.fill %s {value = dense<1.5> : tensor<1xf32>} : tensor<2xi64> -> tensor<?x?xf32>
  // CHECK: graph.range %{{.*}}, %{{.*}}, %{{.*}} : tensor<i64>, tensor<i64>, tensor<i64> -> tensor<?xi64>
  %3 = graph.range %n, %n, %n : tensor<i64>, tensor<i64>, tensor<i64> -> tensor<?xi64>
  // CHECK: graph.gather %{{.*}}, %{{.*}} {axis = 0 : i64} : tensor<5x3xf32>, tensor<2x1xi64> -> tensor<2x1x3xf32>
  %4 = graph.gather %x, %i {axis = 0 : i64} : tensor<5x3xf32>, tensor<2x1xi64> -> tensor<2x1x3xf32>
  // CHECK: graph.gather_elements %{{.*}}, %{{.*}} {axis = 1 : i64}
  %5 = graph.gather_elements %x, %i {axis = 1 : i64} : tensor<5x3xf32>, tensor<2x1xi64> -> tensor<2x1xf32>
  // CHECK: graph.gather_nd %{{.*}}, %{{.*}} : tensor<5x3xf32>, tensor<2x1xi64> -> tensor<2x3xf32>
  %6 = graph.gather_nd %x, %i : tensor<5x3xf32>, tensor<2x1xi64> -> tensor<2x3xf32>
  // CHECK: graph.scatter_nd %{{.*}}, %{{.*}}, %{{.*}}
  %7 = graph.scatter_nd %x, %i, %u : tensor<5x3xf32>, tensor<2x1xi64>, tensor<2x3xf32> -> tensor<5x3xf32>
  // CHECK: graph.trilu %{{.*}} {k = -1 : i64, upper}
  %8 = graph.trilu %x {k = -1 : i64, upper} : tensor<5x3xf32> -> tensor<5x3xf32>
  // CHECK: graph.cumsum %{{.*}} {axis = 0 : i64, exclusive, reverse}
  %9 = graph.cumsum %x {axis = 0 : i64, exclusive, reverse} : tensor<5x3xf32> -> tensor<5x3xf32>
  return
}

// CHECK-LABEL: @compute
func.func @compute(%x: tensor<2x5x3xf32>, %w: tensor<7x3xf32>, %s: tensor<3xf32>, %q: tensor<2x5x4x3xf32>,
                   %k: tensor<2x7x2x3xf32>, %m: tensor<5x7xi1>) {
  // CHECK: graph.matmul %{{.*}}, %{{.*}} {transpose_rhs} : tensor<2x5x3xf32>, tensor<7x3xf32> -> tensor<2x5x7xf32>
  %0 = graph.matmul %x, %w {transpose_rhs} : tensor<2x5x3xf32>, tensor<7x3xf32> -> tensor<2x5x7xf32>
  // CHECK: graph.reduce mean %{{.*}} {axes = array<i64: 0, 2>, keepdims}
  %1 = graph.reduce mean %x {axes = array<i64: 0, 2>, keepdims} : tensor<2x5x3xf32> -> tensor<1x5x1xf32>
  // CHECK: graph.arg_reduce %{{.*}} {axis = 1 : i64, min}
  %2 = graph.arg_reduce %x {axis = 1 : i64, min} : tensor<2x5x3xf32> -> tensor<2x3xi64>
  // CHECK: graph.softmax %{{.*}} {axis = 2 : i64, log}
  %3 = graph.softmax %x {axis = 2 : i64, log} : tensor<2x5x3xf32> -> tensor<2x5x3xf32>
  // CHECK: graph.layer_norm %{{.*}} scale(%{{.*}} : tensor<3xf32>) bias(%{{.*}} : tensor<3xf32>) {axis = 2 : i64
  %4 = graph.layer_norm %x scale(%s : tensor<3xf32>) bias(%s : tensor<3xf32>) {axis = 2 : i64, epsilon = 1.0e-12 : f64}
    : tensor<2x5x3xf32> -> tensor<2x5x3xf32>
  // CHECK: graph.layer_norm %{{.*}} bias(%{{.*}} : tensor<3xf32>) {axis = 1 : i64
  %5 = graph.layer_norm %x bias(%s : tensor<3xf32>) {axis = 1 : i64, epsilon = 0.0 : f64} : tensor<2x5x3xf32> -> tensor<2x5x3xf32>
  // CHECK: graph.rms_norm %{{.*}} scale(%{{.*}} : tensor<3xf32>) {axis = 2 : i64
  %6 = graph.rms_norm %x scale(%s : tensor<3xf32>) {axis = 2 : i64, epsilon = 1.0e-6 : f64} : tensor<2x5x3xf32> -> tensor<2x5x3xf32>
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} mask(%{{.*}} : tensor<5x7xi1>) {bottom_right, causal, scale = 5.000000e-01 : f64}
  %7 = graph.attention %q, %k, %k mask(%m : tensor<5x7xi1>) {scale = 0.5 : f64, causal, bottom_right}
    : tensor<2x5x4x3xf32>, tensor<2x7x2x3xf32>, tensor<2x7x2x3xf32> -> tensor<2x5x4x3xf32>
  return
}

// CHECK-LABEL: @groups
func.func @groups(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: graph.group "pointwise"(%{{.*}}) : (tensor<3xf32>) -> tensor<3xf32> {
  %0 = graph.group "pointwise"(%x) : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    %1 = graph.unary exp %a : tensor<3xf32> -> tensor<3xf32>
    // CHECK: graph.yield %{{.*}} : tensor<3xf32>
    graph.yield %1 : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

// A declared type may know more dims than can be inferred, or fewer.
// CHECK-LABEL: @declared_types
func.func @declared_types(%x: tensor<?x3xf32>, %y: tensor<2x3xf32>) {
  // CHECK: tensor<?x3xf32> -> tensor<5x3xf32>
  %0 = graph.unary exp %x : tensor<?x3xf32> -> tensor<5x3xf32>
  // CHECK: tensor<2x3xf32> -> tensor<?x3xf32>
  %1 = graph.unary exp %y : tensor<2x3xf32> -> tensor<?x3xf32>
  return
}
