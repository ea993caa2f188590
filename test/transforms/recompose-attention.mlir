// Attention by structure: scale, mask and key transposition wherever exporters put them; head splits are absorbed.
// RUN: gaudi-opt %s --recompose-attention --simplify | FileCheck %s

// BERT, eager: scores / sqrt(d) + mask, key transposed with the head split in one step.
// CHECK-LABEL: func.func @bert_eager
// CHECK-SAME:    (%[[Q:.*]]: tensor<2x5x12xf32>, %[[K:.*]]: tensor<2x5x12xf32>, %[[V:.*]]: tensor<2x5x12xf32>, %[[M:.*]]: tensor<2x1x1x5xf32>)
func.func @bert_eager(%q: tensor<2x5x12xf32>, %k: tensor<2x5x12xf32>, %v: tensor<2x5x12xf32>, %m: tensor<2x1x1x5xf32>) -> tensor<2x5x12xf32> {
  %q4 = graph.reshape %q {shape = array<i64: 2, 5, 3, 4>} : tensor<2x5x12xf32> -> tensor<2x5x3x4xf32>
  %k4 = graph.reshape %k {shape = array<i64: 2, 5, 3, 4>} : tensor<2x5x12xf32> -> tensor<2x5x3x4xf32>
  %v4 = graph.reshape %v {shape = array<i64: 2, 5, 3, 4>} : tensor<2x5x12xf32> -> tensor<2x5x3x4xf32>
  %qt = graph.transpose %q4 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %kt = graph.transpose %k4 {permutation = array<i64: 0, 2, 3, 1>} : tensor<2x5x3x4xf32> -> tensor<2x3x4x5xf32>
  %vt = graph.transpose %v4 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %s = graph.matmul %qt, %kt : tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32> -> tensor<2x3x5x5xf32>
  %c = graph.constant dense<2.0> : tensor<f32>
  %sc = graph.binary div %s, %c : tensor<2x3x5x5xf32>, tensor<f32> -> tensor<2x3x5x5xf32>
  %sm = graph.binary add %sc, %m : tensor<2x3x5x5xf32>, tensor<2x1x1x5xf32> -> tensor<2x3x5x5xf32>
  %p = graph.softmax %sm {axis = 3 : i64} : tensor<2x3x5x5xf32> -> tensor<2x3x5x5xf32>
  %o = graph.matmul %p, %vt : tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32> -> tensor<2x3x5x4xf32>
  %ot = graph.transpose %o {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x3x5x4xf32> -> tensor<2x5x3x4xf32>
  // CHECK-DAG: %[[Q4:.*]] = graph.reshape %[[Q]] {shape = array<i64: 2, 5, 3, 4>}
  // CHECK-DAG: %[[K4:.*]] = graph.reshape %[[K]] {shape = array<i64: 2, 5, 3, 4>}
  // CHECK-DAG: %[[V4:.*]] = graph.reshape %[[V]] {shape = array<i64: 2, 5, 3, 4>}
  // CHECK: %[[A:.*]] = graph.attention %[[Q4]], %[[K4]], %[[V4]] mask(%[[M]] : tensor<2x1x1x5xf32>) {scale = 5.000000e-01 : f64}
  // CHECK: graph.reshape %[[A]]
  // CHECK-NOT: graph.transpose
  %r = graph.reshape %ot {shape = array<i64: 2, 5, 12>} : tensor<2x5x3x4xf32> -> tensor<2x5x12xf32>
  return %r : tensor<2x5x12xf32>
}

// torch.onnx dynamo: both sides times sqrt(scale), key through [-1, s, d], NaN rows set to zero, bool mask.
// CHECK-LABEL: func.func @dynamo_sdpa
func.func @dynamo_sdpa(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x5x4xf32>, %v: tensor<2x3x5x4xf32>, %m: tensor<2x1x1x5xi1>) -> tensor<2x3x5x4xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %inf = graph.constant dense<0xFF800000> : tensor<f32>
  %k3 = graph.reshape %k {shape = array<i64: 6, 5, 4>} : tensor<2x3x5x4xf32> -> tensor<6x5x4xf32>
  %kt = graph.transpose %k3 {permutation = array<i64: 0, 2, 1>} : tensor<6x5x4xf32> -> tensor<6x4x5xf32>
  %k4 = graph.reshape %kt {shape = array<i64: 2, 3, 4, 5>} : tensor<6x4x5xf32> -> tensor<2x3x4x5xf32>
  %qs = graph.binary mul %q, %half : tensor<2x3x5x4xf32>, tensor<f32> -> tensor<2x3x5x4xf32>
  %ks = graph.binary mul %k4, %half : tensor<2x3x4x5xf32>, tensor<f32> -> tensor<2x3x4x5xf32>
  %s = graph.matmul %qs, %ks : tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32> -> tensor<2x3x5x5xf32>
  %sm = graph.select %m, %s, %inf : tensor<2x1x1x5xi1>, tensor<2x3x5x5xf32>, tensor<f32> -> tensor<2x3x5x5xf32>
  %p = graph.softmax %sm {axis = 3 : i64} : tensor<2x3x5x5xf32> -> tensor<2x3x5x5xf32>
  %n = graph.unary is_nan %p : tensor<2x3x5x5xf32> -> tensor<2x3x5x5xi1>
  %pz = graph.select %n, %zero, %p : tensor<2x3x5x5xi1>, tensor<f32>, tensor<2x3x5x5xf32> -> tensor<2x3x5x5xf32>
  // CHECK: graph.attention %arg0, %arg1, %arg2 mask(%arg3 : tensor<2x1x1x5xi1>) {heads_first, scale = 2.500000e-01 : f64, zero_masked_rows}
  // CHECK-NOT: graph.transpose
  %o = graph.matmul %pz, %v : tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32> -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

// CLIP: 3-D products, a causal mask added on the rank-4 view; the constant is exactly the causal pattern.
// CHECK-LABEL: func.func @clip_causal
func.func @clip_causal(%q: tensor<6x3x4xf32>, %k: tensor<6x3x4xf32>, %v: tensor<6x3x4xf32>) -> tensor<6x3x4xf32> {
  %m = graph.constant dense<[[[[0.0, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, -3.40282347E+38], [0.0, 0.0, 0.0]]]]> : tensor<1x1x3x3xf32>
  %s = graph.matmul %q, %k {transpose_rhs} : tensor<6x3x4xf32>, tensor<6x3x4xf32> -> tensor<6x3x3xf32>
  %s4 = graph.reshape %s {shape = array<i64: 2, 3, 3, 3>} : tensor<6x3x3xf32> -> tensor<2x3x3x3xf32>
  %sm = graph.binary add %s4, %m : tensor<2x3x3x3xf32>, tensor<1x1x3x3xf32> -> tensor<2x3x3x3xf32>
  %s3 = graph.reshape %sm {shape = array<i64: 6, 3, 3>} : tensor<2x3x3x3xf32> -> tensor<6x3x3xf32>
  %p = graph.softmax %s3 {axis = 2 : i64} : tensor<6x3x3xf32> -> tensor<6x3x3xf32>
  // CHECK: graph.attention {{.*}} {causal, heads_first, scale = 1.000000e+00 : f64} : tensor<2x3x3x4xf32>
  %o = graph.matmul %p, %v : tensor<6x3x3xf32>, tensor<6x3x4xf32> -> tensor<6x3x4xf32>
  return %o : tensor<6x3x4xf32>
}

// CLIP, eager: the query is scaled before its head split.
// CHECK-LABEL: func.func @scaled_before_split
func.func @scaled_before_split(%q: tensor<2x5x12xf32>, %k: tensor<2x3x5x4xf32>, %v: tensor<2x3x5x4xf32>) -> tensor<6x5x4xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %qs = graph.binary mul %q, %half : tensor<2x5x12xf32>, tensor<f32> -> tensor<2x5x12xf32>
  %q4 = graph.reshape %qs {shape = array<i64: 2, 5, 3, 4>} : tensor<2x5x12xf32> -> tensor<2x5x3x4xf32>
  %qt = graph.transpose %q4 {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %q3 = graph.reshape %qt {shape = array<i64: 6, 5, 4>} : tensor<2x3x5x4xf32> -> tensor<6x5x4xf32>
  %k3 = graph.reshape %k {shape = array<i64: 6, 5, 4>} : tensor<2x3x5x4xf32> -> tensor<6x5x4xf32>
  %v3 = graph.reshape %v {shape = array<i64: 6, 5, 4>} : tensor<2x3x5x4xf32> -> tensor<6x5x4xf32>
  %s = graph.matmul %q3, %k3 {transpose_rhs} : tensor<6x5x4xf32>, tensor<6x5x4xf32> -> tensor<6x5x5xf32>
  %p = graph.softmax %s {axis = 2 : i64} : tensor<6x5x5xf32> -> tensor<6x5x5xf32>
  // CHECK-NOT: graph.binary
  // CHECK: graph.attention {{.*}} scale = 5.000000e-01 : f64} : tensor<2x3x5x4xf32>
  %o = graph.matmul %p, %v3 : tensor<6x5x5xf32>, tensor<6x5x4xf32> -> tensor<6x5x4xf32>
  return %o : tensor<6x5x4xf32>
}

// The triangle spelled out for every batch entry, as a boolean that allows.
// CHECK-LABEL: func.func @causal_for_every_batch
func.func @causal_for_every_batch(%q: tensor<2x3x2x4xf32>, %k: tensor<2x3x2x4xf32>, %v: tensor<2x3x2x4xf32>) -> tensor<2x3x2x4xf32> {
  %m = graph.constant dense<[[[[true, false], [true, true]]], [[[true, false], [true, true]]]]> : tensor<2x1x2x2xi1>
  %inf = graph.constant dense<0xFF800000> : tensor<f32>
  %s = graph.matmul %q, %k {transpose_rhs} : tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32> -> tensor<2x3x2x2xf32>
  %sm = graph.select %m, %s, %inf : tensor<2x1x2x2xi1>, tensor<2x3x2x2xf32>, tensor<f32> -> tensor<2x3x2x2xf32>
  %p = graph.softmax %sm {axis = 3 : i64} : tensor<2x3x2x2xf32> -> tensor<2x3x2x2xf32>
  // CHECK: graph.attention {{.*}} {causal, heads_first
  %o = graph.matmul %p, %v : tensor<2x3x2x2xf32>, tensor<2x3x2x4xf32> -> tensor<2x3x2x4xf32>
  return %o : tensor<2x3x2x4xf32>
}

// One position off the triangle: stays a mask.
// CHECK-LABEL: func.func @almost_causal
func.func @almost_causal(%q: tensor<2x3x3x4xf32>, %k: tensor<2x3x3x4xf32>, %v: tensor<2x3x3x4xf32>) -> tensor<2x3x3x4xf32> {
  %m = graph.constant dense<[[0.0, -3.40282347E+38, 0.0], [0.0, 0.0, -3.40282347E+38], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %s = graph.matmul %q, %k {transpose_rhs} : tensor<2x3x3x4xf32>, tensor<2x3x3x4xf32> -> tensor<2x3x3x3xf32>
  %sm = graph.binary add %m, %s : tensor<3x3xf32>, tensor<2x3x3x3xf32> -> tensor<2x3x3x3xf32>
  %p = graph.softmax %sm {axis = 3 : i64} : tensor<2x3x3x3xf32> -> tensor<2x3x3x3xf32>
  // CHECK: graph.attention {{.*}} mask({{.*}} : tensor<3x3xf32>) {heads_first, scale
  %o = graph.matmul %p, %v : tensor<2x3x3x3xf32>, tensor<2x3x3x4xf32> -> tensor<2x3x3x4xf32>
  return %o : tensor<2x3x3x4xf32>
}

// DistilBERT: true = forbidden, filled with -inf.
// CHECK-LABEL: func.func @forbidden_positions
func.func @forbidden_positions(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x5x4xf32>, %v: tensor<2x3x5x4xf32>, %f: tensor<2x1x1x5xi1>) -> tensor<2x3x5x4xf32> {
  %inf = graph.constant dense<0xFF800000> : tensor<f32>
  %fb = graph.broadcast %f {shape = array<i64: 2, 3, 5, 5>} : tensor<2x1x1x5xi1> -> tensor<2x3x5x5xi1>
  %s = graph.matmul %q, %k {transpose_rhs} : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32> -> tensor<2x3x5x5xf32>
  %sm = graph.select %fb, %inf, %s : tensor<2x3x5x5xi1>, tensor<f32>, tensor<2x3x5x5xf32> -> tensor<2x3x5x5xf32>
  %p = graph.softmax %sm {axis = 3 : i64} : tensor<2x3x5x5xf32> -> tensor<2x3x5x5xf32>
  // CHECK: %[[A:.*]] = graph.unary logical_not %{{.*}} : tensor<2x1x1x5xi1>
  // CHECK: graph.attention {{.*}} mask(%[[A]] : tensor<2x1x1x5xi1>)
  %o = graph.matmul %p, %v : tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32> -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

// An attention that comes from import gets the same layout.
// CHECK-LABEL: func.func @imported
func.func @imported(%q: tensor<2x5x3x4xf32>, %k: tensor<2x5x3x4xf32>, %v: tensor<2x5x3x4xf32>) -> tensor<2x5x3x4xf32> {
  %qt = graph.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %kt = graph.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %vt = graph.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
  %a = graph.attention %qt, %kt, %vt {scale = 0.5 : f64, heads_first} : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32> -> tensor<2x3x5x4xf32>
  // CHECK: graph.attention %arg0, %arg1, %arg2 {scale = 5.000000e-01 : f64}
  // CHECK-NEXT: return
  %r = graph.transpose %a {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x3x5x4xf32> -> tensor<2x5x3x4xf32>
  return %r : tensor<2x5x3x4xf32>
}

// Near miss: the softmax is over the queries.
// CHECK-LABEL: func.func @softmax_over_queries
func.func @softmax_over_queries(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x5x4xf32>, %v: tensor<2x3x5x4xf32>) -> tensor<2x3x5x4xf32> {
  %s = graph.matmul %q, %k {transpose_rhs} : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32> -> tensor<2x3x5x5xf32>
  %p = graph.softmax %s {axis = 2 : i64} : tensor<2x3x5x5xf32> -> tensor<2x3x5x5xf32>
  // CHECK-NOT: graph.attention
  %o = graph.matmul %p, %v : tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32> -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}

// Near miss: the probabilities are an output of the model.
// CHECK-LABEL: func.func @returned_probabilities
func.func @returned_probabilities(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x5x4xf32>, %v: tensor<2x3x5x4xf32>) -> (tensor<2x3x5x4xf32>, tensor<2x3x5x5xf32>) {
  %s = graph.matmul %q, %k {transpose_rhs} : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32> -> tensor<2x3x5x5xf32>
  %p = graph.softmax %s {axis = 3 : i64} : tensor<2x3x5x5xf32> -> tensor<2x3x5x5xf32>
  // CHECK-NOT: graph.attention
  %o = graph.matmul %p, %v : tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32> -> tensor<2x3x5x4xf32>
  return %o, %p : tensor<2x3x5x4xf32>, tensor<2x3x5x5xf32>
}

// Near miss: filling with -5 is not masking.
// CHECK-LABEL: func.func @small_fill
func.func @small_fill(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x5x4xf32>, %v: tensor<2x3x5x4xf32>, %f: tensor<2x1x1x5xi1>) -> tensor<2x3x5x4xf32> {
  %c = graph.constant dense<-5.0> : tensor<f32>
  %s = graph.matmul %q, %k {transpose_rhs} : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32> -> tensor<2x3x5x5xf32>
  %sm = graph.select %f, %c, %s : tensor<2x1x1x5xi1>, tensor<f32>, tensor<2x3x5x5xf32> -> tensor<2x3x5x5xf32>
  %p = graph.softmax %sm {axis = 3 : i64} : tensor<2x3x5x5xf32> -> tensor<2x3x5x5xf32>
  // CHECK-NOT: graph.attention
  %o = graph.matmul %p, %v : tensor<2x3x5x5xf32>, tensor<2x3x5x4xf32> -> tensor<2x3x5x4xf32>
  return %o : tensor<2x3x5x4xf32>
}
