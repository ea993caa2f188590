// torch.onnx dynamo with SDPA, dynamic axes: rank-2 products, both sides times sqrt(scale), key through [-1, s, d], the
// mask expanded, inverted and filled, token types expanded from a constant, position ids sliced at run time.
// RUN: gaudi-opt %s --graph-pipeline="shapes=ids=2x5,mask=2x5" | FileCheck %s

// CHECK-LABEL: func.func @dynamo
// CHECK-NOT: graph.shape_of
// CHECK-DAG: graph.constant #graph.weight<"pos", 0, 1000, 240> : tensor<1x5x12xf32>
// CHECK-DAG: graph.constant #graph.weight<"type", 0, 2000, 48> : tensor<1x1x12xf32>
// CHECK: graph.group "rows"
// CHECK: graph.gather
// CHECK: graph.layer_norm
// CHECK: graph.group "pointwise"
// CHECK: graph.select {{.*}} -> tensor<2x5xf32>
// CHECK-NOT: graph.group "pointwise"
// CHECK-COUNT-3: graph.group "matmul"
// CHECK-NOT: graph.group "pointwise"
// CHECK: graph.group "attention"
// CHECK: graph.attention {{.*}} mask({{.*}} : tensor<2x1x1x5xf32>) {scale = 0.4999{{[0-9]*}} : f64, zero_masked_rows}
// CHECK-NOT: graph.group
// CHECK: return
func.func @dynamo(%ids: tensor<?x?xi64> {graph.name = "ids"}, %mask: tensor<?x?xi64> {graph.name = "mask"}) -> tensor<?x?x12xf32> {
  %word = graph.constant #graph.weight<"word", 0, 0, 528> : tensor<11x12xf32>
  %pos = graph.constant #graph.weight<"pos", 0, 1000, 336> : tensor<7x12xf32>
  %type = graph.constant #graph.weight<"type", 0, 2000, 96> : tensor<2x12xf32>
  %w = graph.constant #graph.weight<"w", 0, 4000, 576> : tensor<12x12xf32>
  %wk = graph.constant #graph.weight<"wk", 0, 5000, 576> : tensor<12x12xf32>
  %wv = graph.constant #graph.weight<"wv", 0, 6000, 576> : tensor<12x12xf32>
  %b = graph.constant #graph.weight<"b", 0, 7000, 48> : tensor<12xf32>
  %root = graph.constant dense<0.707106769> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %min = graph.constant dense<-3.40282347E+38> : tensor<f32>
  %i0 = graph.constant dense<0> : tensor<1xi64>
  %i1 = graph.constant dense<1> : tensor<1xi64>
  %m1 = graph.constant dense<-1> : tensor<1xi64>
  %heads = graph.constant dense<3> : tensor<1xi64>
  %depth = graph.constant dense<4> : tensor<1xi64>
  %width = graph.constant dense<12> : tensor<1xi64>
  %iota = graph.constant dense<[[0, 1, 2, 3, 4, 5, 6]]> : tensor<1x7xi64>
  %nul = graph.constant dense<0> : tensor<1x7xi64>

  %batch = graph.shape_of %ids {start = 0 : i64, end = 1 : i64} : tensor<?x?xi64> -> tensor<1xi64>
  %seq = graph.shape_of %ids {start = 1 : i64, end = 2 : i64} : tensor<?x?xi64> -> tensor<1xi64>
  %bs = graph.concat %batch, %seq {axis = 0 : i64} : tensor<1xi64>, tensor<1xi64> -> tensor<2xi64>
  %pids = graph.slice %iota starts(%i0 : tensor<1xi64>) ends(%seq : tensor<1xi64>) {axes = array<i64: 1>} : tensor<1x7xi64> -> tensor<1x?xi64>
  %t0 = graph.slice %nul starts(%i0 : tensor<1xi64>) ends(%seq : tensor<1xi64>) {axes = array<i64: 1>} : tensor<1x7xi64> -> tensor<1x?xi64>
  %tids = graph.broadcast %t0 shape(%bs : tensor<2xi64>) : tensor<1x?xi64> -> tensor<?x?xi64>
  %e0 = graph.gather %word, %ids {axis = 0 : i64} : tensor<11x12xf32>, tensor<?x?xi64> -> tensor<?x?x12xf32>
  %e1 = graph.gather %type, %tids {axis = 0 : i64} : tensor<2x12xf32>, tensor<?x?xi64> -> tensor<?x?x12xf32>
  %e2 = graph.gather %pos, %pids {axis = 0 : i64} : tensor<7x12xf32>, tensor<1x?xi64> -> tensor<1x?x12xf32>
  %e3 = graph.binary add %e0, %e1 : tensor<?x?x12xf32>, tensor<?x?x12xf32> -> tensor<?x?x12xf32>
  %e4 = graph.binary add %e3, %e2 : tensor<?x?x12xf32>, tensor<1x?x12xf32> -> tensor<?x?x12xf32>
  %x = graph.layer_norm %e4 scale(%b : tensor<12xf32>) bias(%b : tensor<12xf32>) {axis = 2 : i64, epsilon = 1.0e-12 : f64} : tensor<?x?x12xf32> -> tensor<?x?x12xf32>

  %m4 = graph.unsqueeze %mask {axes = array<i64: 1, 2>} : tensor<?x?xi64> -> tensor<?x1x1x?xi64>
  %mshape = graph.concat %batch, %i1, %seq, %seq {axis = 0 : i64} : tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<4xi64>
  %me = graph.broadcast %m4 shape(%mshape : tensor<4xi64>) : tensor<?x1x1x?xi64> -> tensor<?x1x?x?xi64>
  %mf = graph.cast %me {to = f32} : tensor<?x1x?x?xi64> -> tensor<?x1x?x?xf32>
  %mi = graph.binary sub %one, %mf : tensor<f32>, tensor<?x1x?x?xf32> -> tensor<?x1x?x?xf32>
  %mb = graph.cast %mi {to = i1} : tensor<?x1x?x?xf32> -> tensor<?x1x?x?xi1>
  %ma = graph.select %mb, %min, %mi : tensor<?x1x?x?xi1>, tensor<f32>, tensor<?x1x?x?xf32> -> tensor<?x1x?x?xf32>

  %split = graph.concat %batch, %seq, %heads, %depth {axis = 0 : i64} : tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<4xi64>
  %three = graph.concat %m1, %seq, %depth {axis = 0 : i64} : tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<3xi64>
  %back = graph.concat %batch, %heads, %depth, %seq {axis = 0 : i64} : tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<4xi64>
  %merge = graph.concat %batch, %seq, %width {axis = 0 : i64} : tensor<1xi64>, tensor<1xi64>, tensor<1xi64> -> tensor<3xi64>
  %q0 = graph.matmul %x, %w : tensor<?x?x12xf32>, tensor<12x12xf32> -> tensor<?x?x12xf32>
  %q1 = graph.binary add %q0, %b : tensor<?x?x12xf32>, tensor<12xf32> -> tensor<?x?x12xf32>
  %q2 = graph.reshape %q1 shape(%split : tensor<4xi64>) : tensor<?x?x12xf32> -> tensor<?x?x?x?xf32>
  %q3 = graph.transpose %q2 {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  %q = graph.binary mul %q3, %root : tensor<?x?x?x?xf32>, tensor<f32> -> tensor<?x?x?x?xf32>
  %k0 = graph.matmul %x, %wk : tensor<?x?x12xf32>, tensor<12x12xf32> -> tensor<?x?x12xf32>
  %k1 = graph.binary add %k0, %b : tensor<?x?x12xf32>, tensor<12xf32> -> tensor<?x?x12xf32>
  %k2 = graph.reshape %k1 shape(%split : tensor<4xi64>) : tensor<?x?x12xf32> -> tensor<?x?x?x?xf32>
  %k3 = graph.transpose %k2 {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  %k4 = graph.reshape %k3 shape(%three : tensor<3xi64>) : tensor<?x?x?x?xf32> -> tensor<?x?x?xf32>
  %k5 = graph.transpose %k4 {permutation = array<i64: 0, 2, 1>} : tensor<?x?x?xf32> -> tensor<?x?x?xf32>
  %k6 = graph.reshape %k5 shape(%back : tensor<4xi64>) : tensor<?x?x?xf32> -> tensor<?x?x?x?xf32>
  %k = graph.binary mul %k6, %root : tensor<?x?x?x?xf32>, tensor<f32> -> tensor<?x?x?x?xf32>
  %v0 = graph.matmul %x, %wv : tensor<?x?x12xf32>, tensor<12x12xf32> -> tensor<?x?x12xf32>
  %v1 = graph.binary add %v0, %b : tensor<?x?x12xf32>, tensor<12xf32> -> tensor<?x?x12xf32>
  %v2 = graph.reshape %v1 shape(%split : tensor<4xi64>) : tensor<?x?x12xf32> -> tensor<?x?x?x?xf32>
  %v = graph.transpose %v2 {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  %s0 = graph.matmul %q, %k : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  %s1 = graph.binary add %s0, %ma : tensor<?x?x?x?xf32>, tensor<?x1x?x?xf32> -> tensor<?x?x?x?xf32>
  %p0 = graph.softmax %s1 {axis = 3 : i64} : tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  %pn = graph.unary is_nan %p0 : tensor<?x?x?x?xf32> -> tensor<?x?x?x?xi1>
  %p = graph.select %pn, %zero, %p0 : tensor<?x?x?x?xi1>, tensor<f32>, tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  %c0 = graph.matmul %p, %v : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  %c1 = graph.transpose %c0 {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x?x?x?xf32> -> tensor<?x?x?x?xf32>
  %c = graph.reshape %c1 shape(%merge : tensor<3xi64>) : tensor<?x?x?x?xf32> -> tensor<?x?x12xf32>
  return %c : tensor<?x?x12xf32>
}
