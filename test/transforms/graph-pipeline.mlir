// The whole pipeline: a BERT layer as the TorchScript exporter spells it becomes one kernel for the mask, six matmuls
// with their epilogues, one attention and two norms; no transpose is executed.
// RUN: gaudi-opt %s --graph-pipeline | FileCheck %s
// RUN: gaudi-opt %s --graph-pipeline="group=false" | FileCheck %s --check-prefix=FLAT

// FLAT-LABEL: func.func @torchscript
// FLAT-NOT: graph.transpose
// FLAT: graph.attention
// FLAT: graph.layer_norm
// FLAT: graph.unary gelu
// FLAT-NOT: graph.transpose

// CHECK-LABEL: func.func @torchscript
// CHECK: graph.group "pointwise"
// CHECK: graph.binary sub {{.*}} tensor<2x5xf32>
// CHECK-COUNT-3: graph.group "matmul"
// CHECK: graph.group "attention"
// CHECK: graph.group "matmul"
// CHECK: graph.group "rows"
// CHECK: graph.layer_norm
// CHECK: graph.group "matmul"
// CHECK: graph.unary gelu
// CHECK: graph.group "matmul"
// CHECK: graph.group "rows"
// CHECK-NOT: graph.group
// CHECK: return
func.func @torchscript(%x: tensor<2x5x12xf32>, %mask: tensor<2x5xi64>) -> tensor<2x5x12xf32> {
  %one = graph.constant dense<1.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %root2 = graph.constant dense<1.41421354> : tensor<f32>
  %min = graph.constant dense<-3.40282347E+38> : tensor<f32>
  %eps = graph.constant dense<1.0e-12> : tensor<f32>
  %wq = graph.constant #graph.weight<"wq", 0, 0, 576> : tensor<12x12xf32>
  %wk = graph.constant #graph.weight<"wk", 0, 576, 576> : tensor<12x12xf32>
  %wv = graph.constant #graph.weight<"wv", 0, 1152, 576> : tensor<12x12xf32>
  %wo = graph.constant #graph.weight<"wo", 0, 1728, 576> : tensor<12x12xf32>
  %w1 = graph.constant #graph.weight<"w1", 0, 2304, 816> : tensor<12x17xf32>
  %w2 = graph.constant #graph.weight<"w2", 0, 3120, 816> : tensor<17x12xf32>
  %b = graph.constant #graph.weight<"b", 0, 3936, 48> : tensor<12xf32>
  %b1 = graph.constant #graph.weight<"b1", 0, 3984, 68> : tensor<17xf32>

  %m4 = graph.unsqueeze %mask {axes = array<i64: 1, 2>} : tensor<2x5xi64> -> tensor<2x1x1x5xi64>
  %mf = graph.cast %m4 {to = f32} : tensor<2x1x1x5xi64> -> tensor<2x1x1x5xf32>
  %mi = graph.binary sub %one, %mf : tensor<f32>, tensor<2x1x1x5xf32> -> tensor<2x1x1x5xf32>
  %ma = graph.binary mul %mi, %min : tensor<2x1x1x5xf32>, tensor<f32> -> tensor<2x1x1x5xf32>

  %q0 = graph.matmul %x, %wq : tensor<2x5x12xf32>, tensor<12x12xf32> -> tensor<2x5x12xf32>
  %q1 = graph.binary add %b, %q0 : tensor<12xf32>, tensor<2x5x12xf32> -> tensor<2x5x12xf32>
  %q2 = graph.reshape %q1 {shape = array<i64: 2, 5, 3, 4>} : tensor<2x5x12xf32> -> tensor<2x5x3x4xf32>
  %q = graph.transpose %q2 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %k0 = graph.matmul %x, %wk : tensor<2x5x12xf32>, tensor<12x12xf32> -> tensor<2x5x12xf32>
  %k1 = graph.binary add %b, %k0 : tensor<12xf32>, tensor<2x5x12xf32> -> tensor<2x5x12xf32>
  %k2 = graph.reshape %k1 {shape = array<i64: 2, 5, 3, 4>} : tensor<2x5x12xf32> -> tensor<2x5x3x4xf32>
  %k = graph.transpose %k2 {permutation = array<i64: 0, 2, 3, 1>} : tensor<2x5x3x4xf32> -> tensor<2x3x4x5xf32>
  %v0 = graph.matmul %x, %wv : tensor<2x5x12xf32>, tensor<12x12xf32> -> tensor<2x5x12xf32>
  %v1 = graph.binary add %b, %v0 : tensor<12xf32>, tensor<2x5x12xf32> -> tensor<2x5x12xf32>
  %v2 = graph.reshape %v1 {shape = array<i64: 2, 5, 3, 4>} : tensor<2x5x12xf32> -> tensor<2x5x3x4xf32>
  %v = graph.transpose %v2 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %s0 = graph.matmul %q, %k : tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32> -> tensor<2x3x5x5xf32>
  %s1 = graph.binary div %s0, %two : tensor<2x3x5x5xf32>, tensor<f32> -> tensor<2x3x5x5xf32>
  %s2 = graph.binary add %s1, %ma : tensor<2x3x5x5xf32>, tensor<2x1x1x5xf32> -> tensor<2x3x5x5xf32>
  %p = graph.softmax %s2 {axis = 3 : i64} : tensor<2x3x5x5xf32> -> tensor<2x3x5x5xf32>
  %c0 = graph.matmul %p, %v : tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32> -> tensor<2x3x5x4xf32>
  %c1 = graph.transpose %c0 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x3x5x4xf32> -> tensor<2x5x3x4xf32>
  %c = graph.reshape %c1 {shape = array<i64: 2, 5, 12>} : tensor<2x5x3x4xf32> -> tensor<2x5x12xf32>
  %o0 = graph.matmul %c, %wo : tensor<2x5x12xf32>, tensor<12x12xf32> -> tensor<2x5x12xf32>
  %o1 = graph.binary add %b, %o0 : tensor<12xf32>, tensor<2x5x12xf32> -> tensor<2x5x12xf32>
  %h = graph.binary add %o1, %x : tensor<2x5x12xf32>, tensor<2x5x12xf32> -> tensor<2x5x12xf32>

  %mean = graph.reduce mean %h {axes = array<i64: 2>, keepdims} : tensor<2x5x12xf32> -> tensor<2x5x1xf32>
  %d = graph.binary sub %h, %mean : tensor<2x5x12xf32>, tensor<2x5x1xf32> -> tensor<2x5x12xf32>
  %dd = graph.binary pow %d, %two : tensor<2x5x12xf32>, tensor<f32> -> tensor<2x5x12xf32>
  %var = graph.reduce mean %dd {axes = array<i64: 2>, keepdims} : tensor<2x5x12xf32> -> tensor<2x5x1xf32>
  %ve = graph.binary add %var, %eps : tensor<2x5x1xf32>, tensor<f32> -> tensor<2x5x1xf32>
  %std = graph.unary sqrt %ve : tensor<2x5x1xf32> -> tensor<2x5x1xf32>
  %n0 = graph.binary div %d, %std : tensor<2x5x12xf32>, tensor<2x5x1xf32> -> tensor<2x5x12xf32>
  %n1 = graph.binary mul %n0, %b : tensor<2x5x12xf32>, tensor<12xf32> -> tensor<2x5x12xf32>
  %n = graph.binary add %n1, %b : tensor<2x5x12xf32>, tensor<12xf32> -> tensor<2x5x12xf32>

  %f0 = graph.matmul %n, %w1 : tensor<2x5x12xf32>, tensor<12x17xf32> -> tensor<2x5x17xf32>
  %f1 = graph.binary add %b1, %f0 : tensor<17xf32>, tensor<2x5x17xf32> -> tensor<2x5x17xf32>
  %g0 = graph.binary div %f1, %root2 : tensor<2x5x17xf32>, tensor<f32> -> tensor<2x5x17xf32>
  %g1 = graph.unary erf %g0 : tensor<2x5x17xf32> -> tensor<2x5x17xf32>
  %g2 = graph.binary add %g1, %one : tensor<2x5x17xf32>, tensor<f32> -> tensor<2x5x17xf32>
  %g3 = graph.binary mul %f1, %g2 : tensor<2x5x17xf32>, tensor<2x5x17xf32> -> tensor<2x5x17xf32>
  %g = graph.binary mul %g3, %half : tensor<2x5x17xf32>, tensor<f32> -> tensor<2x5x17xf32>
  %e0 = graph.matmul %g, %w2 : tensor<2x5x17xf32>, tensor<17x12xf32> -> tensor<2x5x12xf32>
  %e1 = graph.binary add %b, %e0 : tensor<12xf32>, tensor<2x5x12xf32> -> tensor<2x5x12xf32>
  %e = graph.binary add %e1, %n : tensor<2x5x12xf32>, tensor<2x5x12xf32> -> tensor<2x5x12xf32>
  %r = graph.layer_norm %e scale(%b : tensor<12xf32>) bias(%b : tensor<12xf32>) {axis = 2 : i64, epsilon = 1.0e-12 : f64} : tensor<2x5x12xf32> -> tensor<2x5x12xf32>
  return %r : tensor<2x5x12xf32>
}
