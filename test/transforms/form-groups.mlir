// Which ops become one kernel.
// RUN: gaudi-opt %s --form-groups | FileCheck %s
// RUN: gaudi-opt %s --form-groups --form-groups -o %t.twice && gaudi-opt %s --form-groups | diff - %t.twice

// Bias, activation and residual run on the accumulators; the view between moves below.
// CHECK-LABEL: func.func @matmul_epilogue
// CHECK-SAME:    (%[[X:.*]]: tensor<6x3xf32>, %[[R:.*]]: tensor<2x3x5xf32>)
func.func @matmul_epilogue(%x: tensor<6x3xf32>, %res: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %w = graph.constant #graph.weight<"w", 0, 0, 60> : tensor<3x5xf32>
  %b = graph.constant #graph.weight<"b", 0, 64, 20> : tensor<5xf32>
  // CHECK-DAG: %[[W:.*]] = graph.constant #graph.weight<"w"
  // CHECK-DAG: %[[B:.*]] = graph.constant #graph.weight<"b"
  // CHECK-DAG: %[[RV:.*]] = graph.reshape %[[R]]
  // CHECK: %[[G:.*]] = graph.group "matmul"(%[[X]], %[[W]], %[[B]], %[[RV]])
  // CHECK: graph.matmul
  // CHECK: graph.binary add
  // CHECK: graph.unary gelu
  // CHECK: graph.binary add
  // CHECK: graph.yield
  // CHECK: graph.reshape %[[G]]
  %m = graph.matmul %x, %w : tensor<6x3xf32>, tensor<3x5xf32> -> tensor<6x5xf32>
  %v = graph.reshape %m {shape = array<i64: 2, 3, 5>} : tensor<6x5xf32> -> tensor<2x3x5xf32>
  %a = graph.binary add %v, %b : tensor<2x3x5xf32>, tensor<5xf32> -> tensor<2x3x5xf32>
  %g = graph.unary gelu %a : tensor<2x3x5xf32> -> tensor<2x3x5xf32>
  %r = graph.binary add %g, %res : tensor<2x3x5xf32>, tensor<2x3x5xf32> -> tensor<2x3x5xf32>
  return %r : tensor<2x3x5xf32>
}

// A per-row vector is no epilogue operand, and a value with two users ends the chain.
// CHECK-LABEL: func.func @matmul_epilogue_ends
func.func @matmul_epilogue_ends(%x: tensor<5x3xf32>, %w: tensor<3x5xf32>, %row: tensor<5x1xf32>) -> (tensor<5x5xf32>, tensor<5x5xf32>) {
  // CHECK: graph.group "batch_matmul"
  // CHECK-NOT: graph.binary
  // CHECK: graph.yield
  // CHECK: graph.group "pointwise"
  %m = graph.matmul %x, %w : tensor<5x3xf32>, tensor<3x5xf32> -> tensor<5x5xf32>
  %a = graph.binary mul %m, %row : tensor<5x5xf32>, tensor<5x1xf32> -> tensor<5x5xf32>
  return %m, %a : tensor<5x5xf32>, tensor<5x5xf32>
}

// Quick-GELU uses the product twice but ends in one value.
// CHECK-LABEL: func.func @diamond_epilogue
func.func @diamond_epilogue(%x: tensor<2x3xf32>) -> tensor<2x5xf32> {
  %w = graph.constant #graph.weight<"w", 0, 0, 60> : tensor<3x5xf32>
  %c = graph.constant dense<1.702> : tensor<f32>
  // CHECK: graph.group "matmul"
  // CHECK: graph.unary sigmoid
  // CHECK: graph.binary mul
  // CHECK: graph.yield
  // CHECK-NOT: graph.group
  %m = graph.matmul %x, %w : tensor<2x3xf32>, tensor<3x5xf32> -> tensor<2x5xf32>
  %a = graph.binary mul %m, %c : tensor<2x5xf32>, tensor<f32> -> tensor<2x5xf32>
  %s = graph.unary sigmoid %a : tensor<2x5xf32> -> tensor<2x5xf32>
  %r = graph.binary mul %m, %s : tensor<2x5xf32>, tensor<2x5xf32> -> tensor<2x5xf32>
  return %r : tensor<2x5xf32>
}

// Sum of three embeddings and a norm: one pass.
// CHECK-LABEL: func.func @embedding_sum
func.func @embedding_sum(%ids: tensor<2x3xi64>, %types: tensor<2x3xi64>) -> tensor<2x3x5xf32> {
  %word = graph.constant #graph.weight<"word", 0, 0, 220> : tensor<11x5xf32>
  %type = graph.constant #graph.weight<"type", 0, 256, 40> : tensor<2x5xf32>
  %pos = graph.constant #graph.weight<"pos", 0, 512, 60> : tensor<1x3x5xf32>
  // CHECK: graph.group "rows"
  // CHECK: graph.gather
  // CHECK: graph.gather
  // CHECK: graph.layer_norm
  // CHECK: graph.yield
  // CHECK-NOT: graph.group
  %a = graph.gather %word, %ids {axis = 0 : i64} : tensor<11x5xf32>, tensor<2x3xi64> -> tensor<2x3x5xf32>
  %b = graph.gather %type, %types {axis = 0 : i64} : tensor<2x5xf32>, tensor<2x3xi64> -> tensor<2x3x5xf32>
  %s = graph.binary add %a, %b : tensor<2x3x5xf32>, tensor<2x3x5xf32> -> tensor<2x3x5xf32>
  %t = graph.binary add %s, %pos : tensor<2x3x5xf32>, tensor<1x3x5xf32> -> tensor<2x3x5xf32>
  %n = graph.layer_norm %t {axis = 2 : i64, epsilon = 0.5 : f64} : tensor<2x3x5xf32> -> tensor<2x3x5xf32>
  return %n : tensor<2x3x5xf32>
}

// The sum before the norm is also the next residual: a second result.
// CHECK-LABEL: func.func @residual_is_a_second_result
func.func @residual_is_a_second_result(%x: tensor<3x5xf32>, %y: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  // CHECK: %[[G:.*]]:2 = graph.group "rows"
  // CHECK: return %[[G]]#0, %[[G]]#1
  %s = graph.binary add %x, %y : tensor<3x5xf32>, tensor<3x5xf32> -> tensor<3x5xf32>
  %n = graph.rms_norm %s {axis = 1 : i64, epsilon = 0.5 : f64} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %s, %n : tensor<3x5xf32>, tensor<3x5xf32>
}

// Joining both would make a cycle through the matmul: two groups.
// CHECK-LABEL: func.func @no_cycles
func.func @no_cycles(%x: tensor<5x5xf32>, %w: tensor<5x5xf32>) -> tensor<5x5xf32> {
  // CHECK: graph.group "rows"
  // CHECK: graph.group "batch_matmul"
  %n = graph.softmax %x {axis = 1 : i64} : tensor<5x5xf32> -> tensor<5x5xf32>
  %m = graph.matmul %n, %w : tensor<5x5xf32>, tensor<5x5xf32> -> tensor<5x5xf32>
  %r = graph.binary add %n, %m : tensor<5x5xf32>, tensor<5x5xf32> -> tensor<5x5xf32>
  return %r : tensor<5x5xf32>
}

// A mask chain is one kernel with literals inside; another shape is another kernel; views are none.
// CHECK-LABEL: func.func @pointwise
func.func @pointwise(%m: tensor<2x5xi64>, %x: tensor<2x1x1x5xf32>) -> tensor<2x1x1x5xf32> {
  %one = graph.constant dense<1.0> : tensor<f32>
  %min = graph.constant dense<-3.40282347E+38> : tensor<f32>
  // CHECK: %[[G:.*]] = graph.group "pointwise"(%arg0)
  // CHECK-DAG: graph.constant dense<1.0
  // CHECK-DAG: graph.constant dense<-3.4
  // CHECK: graph.cast
  // CHECK: graph.binary sub
  // CHECK: graph.binary mul
  // CHECK: %[[V:.*]] = graph.reshape %[[G]]
  // CHECK: graph.group "pointwise"(%arg1, %[[V]])
  %f = graph.cast %m {to = f32} : tensor<2x5xi64> -> tensor<2x5xf32>
  %v = graph.reshape %f {shape = array<i64: 2, 1, 1, 5>} : tensor<2x5xf32> -> tensor<2x1x1x5xf32>
  %s = graph.binary sub %one, %v : tensor<f32>, tensor<2x1x1x5xf32> -> tensor<2x1x1x5xf32>
  %k = graph.binary mul %s, %min : tensor<2x1x1x5xf32>, tensor<f32> -> tensor<2x1x1x5xf32>
  %r = graph.binary add %x, %k : tensor<2x1x1x5xf32>, tensor<2x1x1x5xf32> -> tensor<2x1x1x5xf32>
  return %r : tensor<2x1x1x5xf32>
}

// Movement joins what reads it element by element, not what moves it again.
// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<5x7xf32>) -> tensor<7x3xf32> {
  // CHECK: graph.group "pointwise"
  // CHECK: graph.transpose
  // CHECK: graph.unary tanh
  // CHECK: graph.yield
  // CHECK: graph.group "pointwise"
  // CHECK: graph.slice
  // CHECK: graph.unary exp
  %t = graph.transpose %x {permutation = array<i64: 1, 0>} : tensor<5x7xf32> -> tensor<7x5xf32>
  %u = graph.unary tanh %t : tensor<7x5xf32> -> tensor<7x5xf32>
  %s = graph.slice %u {starts = array<i64: 1>, ends = array<i64: 4>, steps = array<i64: 1>, axes = array<i64: 1>} : tensor<7x5xf32> -> tensor<7x3xf32>
  %r = graph.unary exp %s : tensor<7x3xf32> -> tensor<7x3xf32>
  return %r : tensor<7x3xf32>
}

// CHECK-LABEL: func.func @generic
func.func @generic(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<5xf32>, tensor<3xi64>) {
  // CHECK: graph.group "generic"
  // CHECK: graph.cumsum
  // CHECK: graph.group "generic"
  // CHECK: graph.reduce
  // CHECK: graph.group "generic"
  // CHECK: graph.arg_reduce
  %c = graph.cumsum %x {axis = 1 : i64} : tensor<3x5xf32> -> tensor<3x5xf32>
  %r = graph.reduce sum %x {axes = array<i64: 0>} : tensor<3x5xf32> -> tensor<5xf32>
  %a = graph.arg_reduce %x {axis = 1 : i64} : tensor<3x5xf32> -> tensor<3xi64>
  return %c, %r, %a : tensor<3x5xf32>, tensor<5xf32>, tensor<3xi64>
}

// RoBERTa's position ids: joining both users would make a cycle through the running sum, so the first one takes the
// producer and hands it on as a second result.
// CHECK-LABEL: func.func @joins_one_of_two_users
func.func @joins_one_of_two_users(%x: tensor<3xi64>, %y: tensor<3xi64>) -> tensor<3xi64> {
  // CHECK: %[[A:.*]]:2 = graph.group "pointwise"
  // CHECK: graph.group "generic"(%[[A]]#1)
  // CHECK: graph.group "pointwise"(%{{.*}}, %[[A]]#0)
  %a = graph.binary add %x, %y : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
  %n = graph.unary neg %a : tensor<3xi64> -> tensor<3xi64>
  %c = graph.cumsum %n {axis = 0 : i64} : tensor<3xi64> -> tensor<3xi64>
  %r = graph.binary mul %c, %a : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
  return %r : tensor<3xi64>
}

// Scatters read their operands from memory: the splat is no literal of the group.
// CHECK-LABEL: func.func @scatter_of_splat
func.func @scatter_of_splat(%i: tensor<2x1xi64>, %u: tensor<2x3xf32>) -> tensor<5x3xf32> {
  // CHECK: %[[Z:.*]] = graph.constant dense<0.000000e+00> : tensor<5x3xf32>
  // CHECK: graph.group "generic"(%[[Z]], %{{.*}}, %{{.*}})
  %z = graph.constant dense<0.0> : tensor<5x3xf32>
  %r = graph.scatter_nd %z, %i, %u : tensor<5x3xf32>, tensor<2x1xi64>, tensor<2x3xf32> -> tensor<5x3xf32>
  return %r : tensor<5x3xf32>
}
