// Each op states with values why it is wrong. The verifier adds its own line to what the shape rule says.
// RUN: gaudi-opt %s -split-input-file -verify-diagnostics

func.func @unary_c1(%x: tensor<3xi32>) {
  // expected-error @+2 {{kind 'gelu' does not take element type 'i32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.unary gelu %x : tensor<3xi32> -> tensor<3xi32>
  return
}

// -----

func.func @unary_not_wants_bool(%x: tensor<3xf32>) {
  // expected-error @+2 {{kind 'logical_not' does not take element type 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.unary logical_not %x : tensor<3xf32> -> tensor<3xi1>
  return
}

// -----

func.func @unary_declared_shape(%x: tensor<3xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<3xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.unary exp %x : tensor<3xf32> -> tensor<5xf32>
  return
}

// -----

func.func @unary_declared_element(%x: tensor<3xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<3xi1>' are incompatible}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.unary is_nan %x : tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @binary_c1(%x: tensor<3xf32>, %y: tensor<3xf16>) {
  // expected-error @+2 {{operand types differ ('f32', 'f16')}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.binary add %x, %y : tensor<3xf32>, tensor<3xf16> -> tensor<3xf32>
  return
}

// -----

func.func @binary_bits_of_floats(%x: tensor<3xf32>) {
  // expected-error @+2 {{kind 'bit_and' does not take element type 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.binary bit_and %x, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @binary_sum_of_bools(%x: tensor<3xi1>) {
  // expected-error @+2 {{kind 'add' does not take element type 'i1'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.binary add %x, %x : tensor<3xi1>, tensor<3xi1> -> tensor<3xi1>
  return
}

// -----

func.func @binary_c2(%x: tensor<2x3xf32>, %y: tensor<5xf32>) {
  // expected-error @+2 {{shapes 2x3 and 5 do not broadcast (3 vs 5 at dim 1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.binary add %x, %y : tensor<2x3xf32>, tensor<5xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @select_types(%c: tensor<i1>, %x: tensor<3xf32>, %y: tensor<3xi32>) {
  // expected-error @+2 {{operand types differ ('f32', 'i32')}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.select %c, %x, %y : tensor<i1>, tensor<3xf32>, tensor<3xi32> -> tensor<3xf32>
  return
}

// -----

func.func @reshape_c1(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{element counts differ: cannot reshape 2x3 to [5]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reshape %x {shape = array<i64: 5>} : tensor<2x3xf32> -> tensor<5xf32>
  return
}

// -----

func.func @reshape_deduced(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{element counts differ: cannot reshape 2x3 to [4, -1]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reshape %x {shape = array<i64: 4, -1>} : tensor<2x3xf32> -> tensor<4x?xf32>
  return
}

// -----

func.func @reshape_two_deduced(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{shape [-1, -1] has more than one -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reshape %x {shape = array<i64: -1, -1>} : tensor<2x3xf32> -> tensor<?x?xf32>
  return
}

// -----

func.func @reshape_negative(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{shape [-2, 3] has negative dim -2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reshape %x {shape = array<i64: -2, 3>} : tensor<2x3xf32> -> tensor<?x?xf32>
  return
}

// -----

func.func @reshape_copies_too_far(%x: tensor<6xf32>) {
  // expected-error @+2 {{shape [6, 0] copies dim 1 of an input of rank 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reshape %x {shape = array<i64: 6, 0>} : tensor<6xf32> -> tensor<?x?xf32>
  return
}

// -----

func.func @reshape_zero_means_zero(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{element counts differ: cannot reshape 2x3 to [0, 3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reshape %x {shape = array<i64: 0, 3>, allowzero} : tensor<2x3xf32> -> tensor<0x3xf32>
  return
}

// -----

func.func @reshape_constant_operand(%x: tensor<2x3xf32>) {
  %s = graph.constant dense<[4, 2]> : tensor<2xi64>
  // expected-error @+2 {{element counts differ: cannot reshape 2x3 to [4, 2]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reshape %x shape(%s : tensor<2xi64>) : tensor<2x3xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @reshape_neither(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{needs either the shape operand or the shape attribute, has none}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  return
}

// -----

func.func @reshape_both(%x: tensor<2x3xf32>, %s: tensor<1xi64>) {
  // expected-error @+2 {{needs either the shape operand or the shape attribute, has both}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reshape %x shape(%s : tensor<1xi64>) {shape = array<i64: 6>} : tensor<2x3xf32> -> tensor<6xf32>
  return
}

// -----

func.func @reshape_unknown_rank(%x: tensor<2x3xf32>, %s: tensor<?xi64>) {
  // expected-error @+2 {{rank of the result is not known: shape operand is 'tensor<?xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reshape %x shape(%s : tensor<?xi64>) : tensor<2x3xf32> -> tensor<6xf32>
  return
}

// -----

func.func @reshape_huge(%x: tensor<?xf32>) {
  // expected-error @+2 {{shape 4294967296x4294967296 has more than 2^59 elements}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reshape %x {shape = array<i64: 4294967296, 4294967296>} : tensor<?xf32> -> tensor<4294967296x4294967296xf32>
  return
}

// -----

func.func @huge_beside_zero(%x: tensor<?xf32>) {
  // expected-error @+2 {{has more than 2^59 elements}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.broadcast %x {shape = array<i64: 0, 4294967296, 4294967296>} : tensor<?xf32> -> tensor<0x4294967296x4294967296xf32>
  return
}

// -----

func.func @squeeze_dim(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{dim 1 cannot be squeezed (found 3, expected 1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.squeeze %x {axes = array<i64: 1>} : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @squeeze_all_of_dynamic(%x: tensor<?x3xf32>) {
  // expected-error @+2 {{squeeze without axes needs static dims (found ?x3)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.squeeze %x : tensor<?x3xf32> -> tensor<?x3xf32>
  return
}

// -----

func.func @unsqueeze_axis(%x: tensor<2xf32>) {
  // expected-error @+2 {{axis 3 is outside [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.unsqueeze %x {axes = array<i64: 3>} : tensor<2xf32> -> tensor<2x1xf32>
  return
}

// -----

func.func @unsqueeze_twice(%x: tensor<2xf32>) {
  // expected-error @+2 {{axis 0 is given twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.unsqueeze %x {axes = array<i64: 0, 0>} : tensor<2xf32> -> tensor<1x1x2xf32>
  return
}

// -----

func.func @transpose_permutation(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{permutation [0, 0] is no permutation of 2 dims}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.transpose %x {permutation = array<i64: 0, 0>} : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @broadcast_shape(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{shapes 2x3 and 2x5 do not broadcast (3 vs 5 at dim 1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.broadcast %x {shape = array<i64: 2, 5>} : tensor<2x3xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @broadcast_negative(%x: tensor<1xf32>) {
  // expected-error @+2 {{dim 1 is negative (-1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.broadcast %x {shape = array<i64: 2, -1>} : tensor<1xf32> -> tensor<2x1xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<5xf32>) {
  // expected-error @+2 {{step of axis 0 is 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0>, ends = array<i64: 5>, steps = array<i64: 0>, axes = array<i64: 0>} : tensor<5xf32> -> tensor<5xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<5xf32>) {
  // expected-error @+2 {{ends has 2 values, axes has 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0>, ends = array<i64: 5, 5>, axes = array<i64: 0>} : tensor<5xf32> -> tensor<5xf32>
  return
}

// -----

func.func @slice_axis(%x: tensor<5xf32>) {
  // expected-error @+2 {{axis 1 is outside [0, 1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0>, ends = array<i64: 5>, axes = array<i64: 1>} : tensor<5xf32> -> tensor<5xf32>
  return
}

// -----

func.func @slice_axis_twice(%x: tensor<5xf32>) {
  // expected-error @+2 {{axis 0 is given twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0, 0>, ends = array<i64: 5, 5>, axes = array<i64: 0, 0>} : tensor<5xf32> -> tensor<5xf32>
  return
}

// -----

func.func @concat_dims(%x: tensor<2x3xf32>, %y: tensor<2x5xf32>) {
  // expected-error @+2 {{inputs differ at dim 1 (3 vs 5)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.concat %x, %y {axis = 0 : i64} : tensor<2x3xf32>, tensor<2x5xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @concat_types(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+2 {{inputs differ in rank or type ('tensor<2xf32>' vs 'tensor<2xf16>')}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.concat %x, %y {axis = 0 : i64} : tensor<2xf32>, tensor<2xf16> -> tensor<4xf32>
  return
}

// -----

func.func @concat_overflow(%x: tensor<9223372036854775807xi8>) {
  // expected-error @+2 {{dim 0 of the result passes 2^63}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.concat %x, %x {axis = 0 : i64} : tensor<9223372036854775807xi8>, tensor<9223372036854775807xi8> -> tensor<?xi8>
  return
}

// -----

func.func @pad_length(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{pads has 2 values, expected 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.pad %x {pads = array<i64: 1, 1>} : tensor<2x3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @pad_crops(%x: tensor<3xf32>) {
  // expected-error @+2 {{pads crop more than dim 0 has (result -1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.pad %x {pads = array<i64: -2, -2>} : tensor<3xf32> -> tensor<0xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<3xf32>, %v: tensor<1xf32>) {
  // expected-error @+2 {{value has type 'tensor<1xf32>', expected a scalar of 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.pad %x value(%v : tensor<1xf32>) {pads = array<i64: 1, 1>} : tensor<3xf32> -> tensor<5xf32>
  return
}

// -----

func.func @fill_negative() {
  %s = graph.constant dense<[2, -3]> : tensor<2xi64>
  // expected-error @+2 {{dim 1 is negative (-3)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.fill %s {value = dense<0.0> : tensor<1xf32>} : tensor<2xi64> -> tensor<?x?xf32>
  return
}

// -----

func.func @fill_value(%s: tensor<2xi64>) {
  // expected-error @+2 {{value must be dense elements of one element}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.fill %s {value = dense<[0.0, 1.0]> : tensor<2xf32>} : tensor<2xi64> -> tensor<?x?xf32>
  return
}

// -----

func.func @range_delta() {
  %a = graph.constant dense<0> : tensor<i64>
  %b = graph.constant dense<5> : tensor<i64>
  // expected-error @+2 {{range from 0.000000e+00 to 5.000000e+00 by 0.000000e+00 does not end or is too long}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.range %a, %b, %a : tensor<i64>, tensor<i64>, tensor<i64> -> tensor<?xi64>
  return
}

// -----

func.func @range_rank(%a: tensor<1xi64>, %b: tensor<i64>) {
  // expected-error @+2 {{start, limit and delta must be numbers of rank 0 and one type, found 'tensor<1xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.range %a, %b, %b : tensor<1xi64>, tensor<i64>, tensor<i64> -> tensor<?xi64>
  return
}

// -----

func.func @gather_axis(%x: tensor<5x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+2 {{axis 2 is outside [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.gather %x, %i {axis = 2 : i64} : tensor<5x3xf32>, tensor<2xi64> -> tensor<5x3x2xf32>
  return
}

// -----

func.func @gather_constant_index(%x: tensor<5x3xf32>) {
  %i = graph.constant dense<[4, -6]> : tensor<2xi64>
  // expected-error @+2 {{index -6 is outside [-5, 5)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.gather %x, %i {axis = 0 : i64} : tensor<5x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_elements_rank(%x: tensor<5x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+2 {{data and indices differ in rank: 2 vs 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.gather_elements %x, %i {axis = 0 : i64} : tensor<5x3xf32>, tensor<2xi64> -> tensor<2xf32>
  return
}

// -----

func.func @gather_elements_exceeds(%x: tensor<5x3xf32>, %i: tensor<2x7xi64>) {
  // expected-error @+2 {{indices exceed data at dim 1 (7 vs 3)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.gather_elements %x, %i {axis = 0 : i64} : tensor<5x3xf32>, tensor<2x7xi64> -> tensor<2x7xf32>
  return
}

// -----

func.func @gather_nd_tuple(%x: tensor<5x3xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+2 {{index tuples of 3 after 0 batch dims exceed rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.gather_nd %x, %i : tensor<5x3xf32>, tensor<2x3xi64> -> tensor<2xf32>
  return
}

// -----

func.func @gather_nd_batch(%x: tensor<5x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+2 {{batch dim 0 differs: 5 vs 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.gather_nd %x, %i {batch_dims = 1 : i64} : tensor<5x3xf32>, tensor<2x1xi64> -> tensor<2xf32>
  return
}

// -----

func.func @scatter_updates(%x: tensor<5x3xf32>, %i: tensor<2x1xi64>, %u: tensor<2x2xf32>) {
  // expected-error @+2 {{updates have shape 2x2, expected 2x3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.scatter_nd %x, %i, %u : tensor<5x3xf32>, tensor<2x1xi64>, tensor<2x2xf32> -> tensor<5x3xf32>
  return
}

// -----

func.func @trilu_rank(%x: tensor<3xf32>) {
  // expected-error @+2 {{needs rank >= 2, found 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.trilu %x {k = 0 : i64} : tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @cumsum_axis(%x: tensor<3xf32>) {
  // expected-error @+2 {{axis -1 is outside [0, 1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.cumsum %x {axis = -1 : i64} : tensor<3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @matmul_c1(%x: tensor<2x3xf32>, %y: tensor<3x5xf16>) {
  // expected-error @+2 {{operand types differ ('f32', 'f16')}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.matmul %x, %y : tensor<2x3xf32>, tensor<3x5xf16> -> tensor<2x5xf32>
  return
}

// -----

func.func @matmul_c2(%x: tensor<2x768xf32>, %y: tensor<512x5xf32>) {
  // expected-error @+2 {{inner dimensions differ: 768 vs 512}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.matmul %x, %y : tensor<2x768xf32>, tensor<512x5xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @matmul_c3(%x: tensor<2x2x3xf32>, %y: tensor<5x3x7xf32>) {
  // expected-error @+2 {{shapes 2 and 5 do not broadcast (2 vs 5 at dim 0)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.matmul %x, %y : tensor<2x2x3xf32>, tensor<5x3x7xf32> -> tensor<2x2x7xf32>
  return
}

// -----

func.func @matmul_rank(%x: tensor<3xf32>, %y: tensor<3x7xf32>) {
  // expected-error @+2 {{needs rank >= 2 on both sides (found 1, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.matmul %x, %y : tensor<3xf32>, tensor<3x7xf32> -> tensor<7xf32>
  return
}

// -----

func.func @reduce_axes(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{axes [1, 1] must be sorted, distinct and not empty}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reduce sum %x {axes = array<i64: 1, 1>} : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_axis(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{axis 2 is outside [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reduce sum %x {axes = array<i64: 2>} : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_sum_of_bools(%x: tensor<2x3xi1>) {
  // expected-error @+2 {{kind 'sum' does not take element type i1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.reduce sum %x {axes = array<i64: 0>} : tensor<2x3xi1> -> tensor<3xi1>
  return
}

// -----

func.func @arg_reduce_empty(%x: tensor<2x0xf32>) {
  // expected-error @+2 {{axis 1 has no elements}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.arg_reduce %x {axis = 1 : i64} : tensor<2x0xf32> -> tensor<2xi64>
  return
}

// -----

func.func @softmax_axis(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{axis 2 is outside [0, 2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.softmax %x {axis = 2 : i64} : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @layer_norm_scale(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error @+2 {{scale of shape 2 does not broadcast to 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.layer_norm %x scale(%s : tensor<2xf32>) {axis = 1 : i64, epsilon = 0.0 : f64} : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @layer_norm_enlarges(%x: tensor<2x1xf32>, %s: tensor<3xf32>) {
  // expected-error @+2 {{bias of shape 3 does not broadcast to 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.layer_norm %x bias(%s : tensor<3xf32>) {axis = 1 : i64, epsilon = 0.0 : f64} : tensor<2x1xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @rms_norm_type(%x: tensor<2x3xf16>, %s: tensor<3xf32>) {
  // expected-error @+2 {{scale has type 'f32', expected 'f16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.rms_norm %x scale(%s : tensor<3xf32>) {axis = 1 : i64, epsilon = 0.0 : f64} : tensor<2x3xf16> -> tensor<2x3xf16>
  return
}

// -----

func.func @rms_norm_epsilon(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{epsilon is -1.000000e+00, expected a finite number >= 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.rms_norm %x {axis = 1 : i64, epsilon = -1.0 : f64} : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @attention_heads(%q: tensor<2x5x4x3xf32>, %k: tensor<2x5x3x3xf32>) {
  // expected-error @+2 {{query heads 4 are no multiple of key heads 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.attention %q, %k, %k {scale = 1.0 : f64} : tensor<2x5x4x3xf32>, tensor<2x5x3x3xf32>, tensor<2x5x3x3xf32> -> tensor<2x5x4x3xf32>
  return
}

// -----

func.func @attention_batch(%q: tensor<2x5x4x3xf32>, %k: tensor<1x5x4x3xf32>) {
  // expected-error @+2 {{batch of query and key differ: 2 vs 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.attention %q, %k, %k {scale = 1.0 : f64} : tensor<2x5x4x3xf32>, tensor<1x5x4x3xf32>, tensor<1x5x4x3xf32> -> tensor<2x5x4x3xf32>
  return
}

// -----

func.func @attention_length(%q: tensor<2x5x4x3xf32>, %k: tensor<2x7x4x3xf32>) {
  // expected-error @+2 {{length of key and value differ: 7 vs 5}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.attention %q, %k, %q {scale = 1.0 : f64} : tensor<2x5x4x3xf32>, tensor<2x7x4x3xf32>, tensor<2x5x4x3xf32> -> tensor<2x5x4x3xf32>
  return
}

// -----

func.func @attention_mask(%q: tensor<2x5x4x3xf32>, %m: tensor<3x5xi1>) {
  // expected-error @+2 {{mask of shape 3x5 does not broadcast to 2x4x5x5}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.attention %q, %q, %q mask(%m : tensor<3x5xi1>) {scale = 1.0 : f64} : tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32> -> tensor<2x5x4x3xf32>
  return
}

// -----

func.func @attention_rank(%q: tensor<5x4x3xf32>) {
  // expected-error @+2 {{query, key and value need rank 4 (found 3, 3, 3)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.attention %q, %q, %q {scale = 1.0 : f64} : tensor<5x4x3xf32>, tensor<5x4x3xf32>, tensor<5x4x3xf32> -> tensor<5x4x3xf32>
  return
}

// -----

// expected-error @+2 {{weight 'w' has bytes [0, 0 + 8), expected 12 bytes for 'tensor<3xf32>'}}
func.func @weight_length() {
  %0 = graph.constant #graph.weight<"w", 0, 0, 8> : tensor<3xf32>
  return
}

// -----

func.func @unranked(%x: tensor<*xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of}}
  %0 = "graph.unary"(%x) {kind = #graph<unary_kind exp>} : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @group_arguments(%x: tensor<3xf32>) {
  // expected-error @+1 {{block arguments differ from the operands' types}}
  %0 = graph.group "pointwise"(%x) : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<5xf32>):
    graph.yield %a : tensor<5xf32>
  }
  return
}

// -----

func.func @group_results(%x: tensor<3xf32>) {
  // expected-error @+1 {{yielded types differ from the result types}}
  %0 = graph.group "pointwise"(%x) : (tensor<3xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<3xf32>):
    graph.yield %a : tensor<3xf32>
  }
  return
}
