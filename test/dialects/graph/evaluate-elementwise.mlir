// Pointwise kinds at ordinary and at adversarial values; expectations by hand or from C99's functions.
// RUN: gaudi-opt %s --run-checks

func.func @neg() {
  %x = graph.constant dense<[1.5, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<6xf32>
  %e = graph.constant dense<[-1.5, -0.0, 0.0, 0xFF800000, 0x7F800000, 0x7FC00000]> : tensor<6xf32>
  %y = graph.unary neg %x : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y, %e : tensor<6xf32>, tensor<6xf32>
  return
}

func.func @abs() {
  %x = graph.constant dense<[-1.5, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<6xf32>
  %e = graph.constant dense<[1.5, 0.0, 0.0, 0x7F800000, 0x7F800000, 0x7FC00000]> : tensor<6xf32>
  %y = graph.unary abs %x : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y, %e : tensor<6xf32>, tensor<6xf32>
  return
}

func.func @relu() {
  %x = graph.constant dense<[-1.5, 2.0, 0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<6xf32>
  %e = graph.constant dense<[0.0, 2.0, 0.0, 0x7F800000, 0.0, 0x7FC00000]> : tensor<6xf32>
  %y = graph.unary relu %x : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y, %e : tensor<6xf32>, tensor<6xf32>
  return
}

func.func @sqrt() {
  %x = graph.constant dense<[2.25, -1.0, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<7xf32>
  %e = graph.constant dense<[1.5, 0x7FC00000, 0.0, -0.0, 0x7F800000, 0x7FC00000, 0x7FC00000]> : tensor<7xf32>
  %y = graph.unary sqrt %x : tensor<7xf32> -> tensor<7xf32>
  check.expect_close %y, %e : tensor<7xf32>, tensor<7xf32>
  return
}

func.func @rsqrt() {
  %x = graph.constant dense<[4.0, 0.0, 0x7F800000, -1.0, 0x7FC00000]> : tensor<5xf32>
  %e = graph.constant dense<[0.5, 0x7F800000, 0.0, 0x7FC00000, 0x7FC00000]> : tensor<5xf32>
  %y = graph.unary rsqrt %x : tensor<5xf32> -> tensor<5xf32>
  check.expect_close %y, %e : tensor<5xf32>, tensor<5xf32>
  return
}

func.func @reciprocal() {
  %x = graph.constant dense<[-4.0, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<6xf32>
  %e = graph.constant dense<[-0.25, 0x7F800000, 0xFF800000, 0.0, -0.0, 0x7FC00000]> : tensor<6xf32>
  %y = graph.unary reciprocal %x : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y, %e : tensor<6xf32>, tensor<6xf32>
  return
}

func.func @exp() {
  %x = graph.constant dense<[1.0, -104.0, 89.0, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<8xf32>
  %e = graph.constant dense<[2.7182817459106445, 0.0, 0x7F800000, 1.0, 1.0, 0x7F800000, 0.0, 0x7FC00000]> : tensor<8xf32>
  %y = graph.unary exp %x : tensor<8xf32> -> tensor<8xf32>
  check.expect_close %y, %e {rtol = 1.0e-7 : f64} : tensor<8xf32>, tensor<8xf32>
  return
}

func.func @log() {
  %x = graph.constant dense<[2.0, 1.0, -1.0, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<8xf32>
  %e = graph.constant dense<[0.6931471824645996, 0.0, 0x7FC00000, 0xFF800000, 0xFF800000, 0x7F800000, 0x7FC00000, 0x7FC00000]> : tensor<8xf32>
  %y = graph.unary log %x : tensor<8xf32> -> tensor<8xf32>
  check.expect_close %y, %e {rtol = 1.0e-7 : f64} : tensor<8xf32>, tensor<8xf32>
  return
}

func.func @sin() {
  %x = graph.constant dense<[1.0, 1000000.0, -0.0, 0x7F800000]> : tensor<4xf32>
  %e = graph.constant dense<[0.8414709568023682, -0.349993497133255, -0.0, 0x7FC00000]> : tensor<4xf32>
  %y = graph.unary sin %x : tensor<4xf32> -> tensor<4xf32>
  check.expect_close %y, %e {rtol = 1.0e-7 : f64} : tensor<4xf32>, tensor<4xf32>
  return
}

func.func @cos() {
  %x = graph.constant dense<[1.0, 1000000.0, -0.0, 0x7F800000]> : tensor<4xf32>
  %e = graph.constant dense<[0.5403022766113281, 0.9367521405220032, 1.0, 0x7FC00000]> : tensor<4xf32>
  %y = graph.unary cos %x : tensor<4xf32> -> tensor<4xf32>
  check.expect_close %y, %e {rtol = 1.0e-7 : f64} : tensor<4xf32>, tensor<4xf32>
  return
}

func.func @tanh() {
  %x = graph.constant dense<[0.5, -9.5, 9.999999682655225e-21, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<8xf32>
  %e = graph.constant dense<[0.46211716532707214, -1.0, 9.999999682655225e-21, 0.0, -0.0, 1.0, -1.0, 0x7FC00000]> : tensor<8xf32>
  %y = graph.unary tanh %x : tensor<8xf32> -> tensor<8xf32>
  check.expect_close %y, %e {rtol = 1.0e-7 : f64} : tensor<8xf32>, tensor<8xf32>
  return
}

func.func @sigmoid() {
  %x = graph.constant dense<[0.5, -20.0, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<7xf32>
  %e = graph.constant dense<[0.622459352016449, 2.06115369216775e-09, 0.5, 0.5, 1.0, 0.0, 0x7FC00000]> : tensor<7xf32>
  %y = graph.unary sigmoid %x : tensor<7xf32> -> tensor<7xf32>
  check.expect_close %y, %e {rtol = 1.0e-7 : f64} : tensor<7xf32>, tensor<7xf32>
  return
}

func.func @erf() {
  %x = graph.constant dense<[0.5, -1.0, 3.9000000953674316, 9.999999974752427e-07, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<9xf32>
  %e = graph.constant dense<[0.5204998850822449, -0.8427007794380188, 0.9999999403953552, 1.1283791536698118e-06, 0.0, -0.0, 1.0, -1.0, 0x7FC00000]> : tensor<9xf32>
  %y = graph.unary erf %x : tensor<9xf32> -> tensor<9xf32>
  check.expect_close %y, %e {rtol = 1.0e-7 : f64} : tensor<9xf32>, tensor<9xf32>
  return
}

func.func @floor() {
  %x = graph.constant dense<[1.5, -1.5, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<7xf32>
  %e = graph.constant dense<[1.0, -2.0, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<7xf32>
  %y = graph.unary floor %x : tensor<7xf32> -> tensor<7xf32>
  check.expect_close %y, %e : tensor<7xf32>, tensor<7xf32>
  return
}

func.func @ceil() {
  %x = graph.constant dense<[1.5, -1.5, -0.5, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<8xf32>
  %e = graph.constant dense<[2.0, -1.0, -0.0, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<8xf32>
  %y = graph.unary ceil %x : tensor<8xf32> -> tensor<8xf32>
  check.expect_close %y, %e : tensor<8xf32>, tensor<8xf32>
  return
}

func.func @round_half_to_even() {
  %x = graph.constant dense<[0.5, 1.5, 2.5, -0.5, -1.5, 2.4000000953674316, 8388609.0, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<12xf32>
  %e = graph.constant dense<[0.0, 2.0, 2.0, -0.0, -2.0, 2.0, 8388609.0, 0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<12xf32>
  %y = graph.unary round %x : tensor<12xf32> -> tensor<12xf32>
  check.expect_close %y, %e : tensor<12xf32>, tensor<12xf32>
  return
}

func.func @sign() {
  %x = graph.constant dense<[-3.5, 2.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<5xf32>
  %e = graph.constant dense<[-1.0, 1.0, 1.0, -1.0, 0x7FC00000]> : tensor<5xf32>
  %y = graph.unary sign %x : tensor<5xf32> -> tensor<5xf32>
  check.expect_close %y, %e : tensor<5xf32>, tensor<5xf32>
  return
}

func.func @gelu() {
  %x = graph.constant dense<[1.0, -3.0, 0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<6xf32>
  %e = graph.constant dense<[0.8413447737693787, -0.004049694165587425, 0.0, 0x7F800000, 0.0, 0x7FC00000]> : tensor<6xf32>
  %y = graph.unary gelu %x : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y, %e {rtol = 1.0e-6 : f64} : tensor<6xf32>, tensor<6xf32>
  return
}

func.func @gelu_tanh() {
  %x = graph.constant dense<[1.0, -3.0, 0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<6xf32>
  %e = graph.constant dense<[0.8411920070648193, -0.003637392073869705, 0.0, 0x7F800000, 0.0, 0x7FC00000]> : tensor<6xf32>
  %y = graph.unary gelu_tanh %x : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y, %e {rtol = 1.0e-6 : f64} : tensor<6xf32>, tensor<6xf32>
  return
}

func.func @silu() {
  %x = graph.constant dense<[1.0, -3.0, 0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<6xf32>
  %e = graph.constant dense<[0.7310585975646973, -0.14227761328220367, 0.0, 0x7F800000, 0.0, 0x7FC00000]> : tensor<6xf32>
  %y = graph.unary silu %x : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y, %e {rtol = 1.0e-6 : f64} : tensor<6xf32>, tensor<6xf32>
  return
}

func.func @softplus() {
  %x = graph.constant dense<[1.0, -20.0, 100.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<6xf32>
  %e = graph.constant dense<[1.31326162815094, 2.06115369216775e-09, 100.0, 0x7F800000, 0.0, 0x7FC00000]> : tensor<6xf32>
  %y = graph.unary softplus %x : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y, %e {rtol = 1.0e-6 : f64} : tensor<6xf32>, tensor<6xf32>
  return
}

func.func @predicates() {
  %x = graph.constant dense<[1.0, 0x7FC00000, 0x7F800000, 0xFF800000]> : tensor<4xf32>
  %nan = graph.unary is_nan %x : tensor<4xf32> -> tensor<4xi1>
  %inf = graph.unary is_inf %x : tensor<4xf32> -> tensor<4xi1>
  %not = graph.unary logical_not %nan : tensor<4xi1> -> tensor<4xi1>
  %is_nan = graph.constant dense<[false, true, false, false]> : tensor<4xi1>
  %is_inf = graph.constant dense<[false, false, true, true]> : tensor<4xi1>
  %not_nan = graph.constant dense<[true, false, true, true]> : tensor<4xi1>
  check.expect_close %nan, %is_nan : tensor<4xi1>, tensor<4xi1>
  check.expect_close %inf, %is_inf : tensor<4xi1>, tensor<4xi1>
  check.expect_close %not, %not_nan : tensor<4xi1>, tensor<4xi1>
  return
}

// Integers wrap: -(-128) is -128 in i8.
func.func @integer_unary() {
  %x = graph.constant dense<[5, -7, 0, -128]> : tensor<4xi8>
  %n = graph.unary neg %x : tensor<4xi8> -> tensor<4xi8>
  %a = graph.unary abs %x : tensor<4xi8> -> tensor<4xi8>
  %s = graph.unary sign %x : tensor<4xi8> -> tensor<4xi8>
  %r = graph.unary relu %x : tensor<4xi8> -> tensor<4xi8>
  %en = graph.constant dense<[-5, 7, 0, -128]> : tensor<4xi8>
  %ea = graph.constant dense<[5, 7, 0, -128]> : tensor<4xi8>
  %es = graph.constant dense<[1, -1, 0, -1]> : tensor<4xi8>
  %er = graph.constant dense<[5, 0, 0, 0]> : tensor<4xi8>
  check.expect_close %n, %en : tensor<4xi8>, tensor<4xi8>
  check.expect_close %a, %ea : tensor<4xi8>, tensor<4xi8>
  check.expect_close %s, %es : tensor<4xi8>, tensor<4xi8>
  check.expect_close %r, %er : tensor<4xi8>, tensor<4xi8>
  return
}

func.func @min_max_propagate_nan() {
  %x = graph.constant dense<[1.0, 0x7FC00000, 3.0, 0xFF800000]> : tensor<4xf32>
  %y = graph.constant dense<[2.0, 2.0, 0x7FC00000, 5.0]> : tensor<4xf32>
  %min = graph.binary min %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %max = graph.binary max %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %emin = graph.constant dense<[1.0, 0x7FC00000, 0x7FC00000, 0xFF800000]> : tensor<4xf32>
  %emax = graph.constant dense<[2.0, 0x7FC00000, 0x7FC00000, 5.0]> : tensor<4xf32>
  check.expect_close %min, %emin : tensor<4xf32>, tensor<4xf32>
  check.expect_close %max, %emax : tensor<4xf32>, tensor<4xf32>
  return
}

// fp32 overflows although the evaluator works in fp64: every result is rounded.
func.func @results_are_rounded() {
  %x = graph.constant dense<[3.0e38, 16777216.0, 1.0e-45]> : tensor<3xf32>
  %y = graph.constant dense<[3.0e38, 1.0, 1.0e-45]> : tensor<3xf32>
  %sum = graph.binary add %x, %y : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %product = graph.binary mul %x, %y : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %es = graph.constant dense<[0x7F800000, 16777216.0, 2.8e-45]> : tensor<3xf32>
  %ep = graph.constant dense<[0x7F800000, 16777216.0, 0.0]> : tensor<3xf32>
  check.expect_close %sum, %es : tensor<3xf32>, tensor<3xf32>
  check.expect_close %product, %ep : tensor<3xf32>, tensor<3xf32>
  return
}

func.func @float_division() {
  %x = graph.constant dense<[1.0, -1.0, 0.0, 7.0]> : tensor<4xf32>
  %y = graph.constant dense<[0.0, 0.0, 0.0, -2.0]> : tensor<4xf32>
  %q = graph.binary div %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %r = graph.binary fmod %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %eq = graph.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, -3.5]> : tensor<4xf32>
  %er = graph.constant dense<[0x7FC00000, 0x7FC00000, 0x7FC00000, 1.0]> : tensor<4xf32>
  check.expect_close %q, %eq : tensor<4xf32>, tensor<4xf32>
  check.expect_close %r, %er : tensor<4xf32>, tensor<4xf32>
  return
}

// Toward zero; x / 0 = 0; the lowest value over -1 wraps.
func.func @integer_division() {
  %x = graph.constant dense<[7, -7, 7, -7, 5, -2147483648]> : tensor<6xi32>
  %y = graph.constant dense<[2, 2, -2, -2, 0, -1]> : tensor<6xi32>
  %div = graph.binary div %x, %y : tensor<6xi32>, tensor<6xi32> -> tensor<6xi32>
  %mod = graph.binary mod %x, %y : tensor<6xi32>, tensor<6xi32> -> tensor<6xi32>
  %fmod = graph.binary fmod %x, %y : tensor<6xi32>, tensor<6xi32> -> tensor<6xi32>
  %ediv = graph.constant dense<[3, -3, -3, 3, 0, -2147483648]> : tensor<6xi32>
  %emod = graph.constant dense<[1, 1, -1, -1, 0, 0]> : tensor<6xi32>
  %efmod = graph.constant dense<[1, -1, 1, -1, 0, 0]> : tensor<6xi32>
  check.expect_close %div, %ediv : tensor<6xi32>, tensor<6xi32>
  check.expect_close %mod, %emod : tensor<6xi32>, tensor<6xi32>
  check.expect_close %fmod, %efmod : tensor<6xi32>, tensor<6xi32>
  return
}

func.func @int64_extremes() {
  %x = graph.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
  %y = graph.constant dense<[-1, 2]> : tensor<2xi64>
  %add = graph.binary add %x, %y : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
  %mul = graph.binary mul %x, %y : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
  %div = graph.binary div %x, %y : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
  %eadd = graph.constant dense<[9223372036854775807, -9223372036854775807]> : tensor<2xi64>
  %emul = graph.constant dense<[-9223372036854775808, -2]> : tensor<2xi64>
  %ediv = graph.constant dense<[-9223372036854775808, 4611686018427387903]> : tensor<2xi64>
  check.expect_close %add, %eadd : tensor<2xi64>, tensor<2xi64>
  check.expect_close %mul, %emul : tensor<2xi64>, tensor<2xi64>
  check.expect_close %div, %ediv : tensor<2xi64>, tensor<2xi64>
  return
}

// 2^64 - 1 is large, not -1.
func.func @ui64_is_unsigned() {
  %x = graph.constant dense<[18446744073709551615, 10]> : tensor<2xui64>
  %y = graph.constant dense<[2, 3]> : tensor<2xui64>
  %div = graph.binary div %x, %y : tensor<2xui64>, tensor<2xui64> -> tensor<2xui64>
  %max = graph.binary max %x, %y : tensor<2xui64>, tensor<2xui64> -> tensor<2xui64>
  %lt = graph.binary lt %x, %y : tensor<2xui64>, tensor<2xui64> -> tensor<2xi1>
  %f = graph.cast %x {to = f64} : tensor<2xui64> -> tensor<2xf64>
  %ediv = graph.constant dense<[9223372036854775807, 3]> : tensor<2xui64>
  %elt = graph.constant dense<false> : tensor<2xi1>
  %ef = graph.constant dense<[18446744073709551616.0, 10.0]> : tensor<2xf64>
  check.expect_close %div, %ediv : tensor<2xui64>, tensor<2xui64>
  check.expect_close %max, %x : tensor<2xui64>, tensor<2xui64>
  check.expect_close %lt, %elt : tensor<2xi1>, tensor<2xi1>
  check.expect_close %f, %ef : tensor<2xf64>, tensor<2xf64>
  return
}

func.func @pow() {
  %x = graph.constant dense<[2.0, -2.0, 0.0, -8.0, 0x7FC00000]> : tensor<5xf32>
  %n = graph.constant dense<[10, 3, 0, 1, 0]> : tensor<5xi64>
  %y = graph.binary pow %x, %n : tensor<5xf32>, tensor<5xi64> -> tensor<5xf32>
  %e = graph.constant dense<[1024.0, -8.0, 1.0, -8.0, 1.0]> : tensor<5xf32>
  check.expect_close %y, %e : tensor<5xf32>, tensor<5xf32>
  %i = graph.constant dense<[3, -1, 5, 2, 10]> : tensor<5xi32>
  %m = graph.constant dense<[4, -3, -1, 33, 0]> : tensor<5xi32>
  %z = graph.binary pow %i, %m : tensor<5xi32>, tensor<5xi32> -> tensor<5xi32>
  %ez = graph.constant dense<[81, -1, 0, 0, 1]> : tensor<5xi32>
  check.expect_close %z, %ez : tensor<5xi32>, tensor<5xi32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %r = graph.binary pow %i, %half : tensor<5xi32>, tensor<f32> -> tensor<5xi32>
  %er = graph.constant dense<[1, 0, 2, 1, 3]> : tensor<5xi32>
  check.expect_close %r, %er : tensor<5xi32>, tensor<5xi32>
  return
}

func.func @comparisons_with_nan() {
  %x = graph.constant dense<[1.0, 0x7FC00000, 0.0]> : tensor<3xf32>
  %y = graph.constant dense<[2.0, 0x7FC00000, -0.0]> : tensor<3xf32>
  %eq = graph.binary eq %x, %y : tensor<3xf32>, tensor<3xf32> -> tensor<3xi1>
  %le = graph.binary le %x, %y : tensor<3xf32>, tensor<3xf32> -> tensor<3xi1>
  %gt = graph.binary gt %x, %y : tensor<3xf32>, tensor<3xf32> -> tensor<3xi1>
  %eeq = graph.constant dense<[false, false, true]> : tensor<3xi1>
  %ele = graph.constant dense<[true, false, true]> : tensor<3xi1>
  %egt = graph.constant dense<false> : tensor<3xi1>
  check.expect_close %eq, %eeq : tensor<3xi1>, tensor<3xi1>
  check.expect_close %le, %ele : tensor<3xi1>, tensor<3xi1>
  check.expect_close %gt, %egt : tensor<3xi1>, tensor<3xi1>
  return
}

func.func @bools_and_bits() {
  %a = graph.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = graph.constant dense<[false, true, false, true]> : tensor<4xi1>
  %and = graph.binary logical_and %a, %b : tensor<4xi1>, tensor<4xi1> -> tensor<4xi1>
  %or = graph.binary logical_or %a, %b : tensor<4xi1>, tensor<4xi1> -> tensor<4xi1>
  %xor = graph.binary logical_xor %a, %b : tensor<4xi1>, tensor<4xi1> -> tensor<4xi1>
  %eand = graph.constant dense<[false, false, false, true]> : tensor<4xi1>
  %eor = graph.constant dense<[false, true, true, true]> : tensor<4xi1>
  %exor = graph.constant dense<[false, true, true, false]> : tensor<4xi1>
  check.expect_close %and, %eand : tensor<4xi1>, tensor<4xi1>
  check.expect_close %or, %eor : tensor<4xi1>, tensor<4xi1>
  check.expect_close %xor, %exor : tensor<4xi1>, tensor<4xi1>
  %x = graph.constant dense<[12, 255]> : tensor<2xui8>
  %y = graph.constant dense<[10, 1]> : tensor<2xui8>
  %bits = graph.binary bit_xor %x, %y : tensor<2xui8>, tensor<2xui8> -> tensor<2xui8>
  %sum = graph.binary add %x, %y : tensor<2xui8>, tensor<2xui8> -> tensor<2xui8>
  %ebits = graph.constant dense<[6, 254]> : tensor<2xui8>
  %esum = graph.constant dense<[22, 0]> : tensor<2xui8>
  check.expect_close %bits, %ebits : tensor<2xui8>, tensor<2xui8>
  check.expect_close %sum, %esum : tensor<2xui8>, tensor<2xui8>
  return
}

// [2, 1, 3] with [5, 1]: every operand is widened.
func.func @broadcast_both_ways() {
  %x = graph.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi32>
  %y = graph.constant dense<[[0], [10]]> : tensor<2x1xi32>
  %s = graph.binary add %x, %y : tensor<2x1x3xi32>, tensor<2x1xi32> -> tensor<2x2x3xi32>
  %e = graph.constant dense<[[[1, 2, 3], [11, 12, 13]], [[4, 5, 6], [14, 15, 16]]]> : tensor<2x2x3xi32>
  check.expect_close %s, %e : tensor<2x2x3xi32>, tensor<2x2x3xi32>
  return
}

func.func @scalars_and_empty() {
  %x = graph.constant dense<2.0> : tensor<f32>
  %y = graph.binary mul %x, %x : tensor<f32>, tensor<f32> -> tensor<f32>
  %e = graph.constant dense<4.0> : tensor<f32>
  check.expect_close %y, %e : tensor<f32>, tensor<f32>
  %z = graph.constant dense<> : tensor<0x3xf32>
  %w = graph.binary mul %z, %x : tensor<0x3xf32>, tensor<f32> -> tensor<0x3xf32>
  %u = graph.unary exp %w : tensor<0x3xf32> -> tensor<0x3xf32>
  check.expect_close %u, %z : tensor<0x3xf32>, tensor<0x3xf32>
  return
}

func.func @select() {
  %c = graph.constant dense<[[true], [false]]> : tensor<2x1xi1>
  %x = graph.constant dense<[1.0, 0x7FC00000, 3.0]> : tensor<3xf32>
  %y = graph.constant dense<-0.0> : tensor<f32>
  %s = graph.select %c, %x, %y : tensor<2x1xi1>, tensor<3xf32>, tensor<f32> -> tensor<2x3xf32>
  %e = graph.constant dense<[[1.0, 0x7FC00000, 3.0], [-0.0, -0.0, -0.0]]> : tensor<2x3xf32>
  check.expect_close %s, %e : tensor<2x3xf32>, tensor<2x3xf32>
  return
}

// Toward zero, saturating, NaN to 0; T5 casts log(0) = -inf to i64.
func.func @cast_float_to_int() {
  %x = graph.constant dense<[1.9, -1.9, 300.0, -300.0, 0x7FC00000, 0x7F800000, 0xFF800000]> : tensor<7xf32>
  %a = graph.cast %x {to = i8} : tensor<7xf32> -> tensor<7xi8>
  %b = graph.cast %x {to = ui8} : tensor<7xf32> -> tensor<7xui8>
  %c = graph.cast %x {to = i64} : tensor<7xf32> -> tensor<7xi64>
  %d = graph.cast %x {to = ui64} : tensor<7xf32> -> tensor<7xui64>
  %f = graph.cast %x {to = i1} : tensor<7xf32> -> tensor<7xi1>
  %ea = graph.constant dense<[1, -1, 127, -128, 0, 127, -128]> : tensor<7xi8>
  %eb = graph.constant dense<[1, 0, 255, 0, 0, 255, 0]> : tensor<7xui8>
  %ec = graph.constant dense<[1, -1, 300, -300, 0, 9223372036854775807, -9223372036854775808]> : tensor<7xi64>
  %ed = graph.constant dense<[1, 0, 300, 0, 0, 18446744073709551615, 0]> : tensor<7xui64>
  %ef = graph.constant dense<true> : tensor<7xi1>
  check.expect_close %a, %ea : tensor<7xi8>, tensor<7xi8>
  check.expect_close %b, %eb : tensor<7xui8>, tensor<7xui8>
  check.expect_close %c, %ec : tensor<7xi64>, tensor<7xi64>
  check.expect_close %d, %ed : tensor<7xui64>, tensor<7xui64>
  check.expect_close %f, %ef : tensor<7xi1>, tensor<7xi1>
  return
}

func.func @cast_ints() {
  %x = graph.constant dense<[300, -1, 0, 2147483647]> : tensor<4xi32>
  %a = graph.cast %x {to = i8} : tensor<4xi32> -> tensor<4xi8>
  %b = graph.cast %x {to = ui16} : tensor<4xi32> -> tensor<4xui16>
  %c = graph.cast %x {to = i1} : tensor<4xi32> -> tensor<4xi1>
  %ea = graph.constant dense<[44, -1, 0, -1]> : tensor<4xi8>
  %eb = graph.constant dense<[300, 65535, 0, 65535]> : tensor<4xui16>
  %ec = graph.constant dense<[true, true, false, true]> : tensor<4xi1>
  check.expect_close %a, %ea : tensor<4xi8>, tensor<4xi8>
  check.expect_close %b, %eb : tensor<4xui16>, tensor<4xui16>
  check.expect_close %c, %ec : tensor<4xi1>, tensor<4xi1>
  return
}

// Ties to even; 65519 is the last float that is finite in fp16; subnormals; no double rounding through fp32.
func.func @cast_to_half() {
  %x = graph.constant dense<[2049.0, 2051.0, 65519.0, 65520.0, 5.9604645e-8, 2.9802322e-8, -1.0e-9, 6.1035e-5]> : tensor<8xf32>
  %y = graph.cast %x {to = f16} : tensor<8xf32> -> tensor<8xf16>
  %e = graph.constant dense<[2048.0, 2052.0, 65504.0, 0x7C00, 0x0001, 0.0, -0.0, 0x0400]> : tensor<8xf16>
  check.expect_close %y, %e : tensor<8xf16>, tensor<8xf16>
  %d = graph.constant dense<1.000488281250001> : tensor<1xf64>
  %h = graph.cast %d {to = f16} : tensor<1xf64> -> tensor<1xf16>
  %eh = graph.constant dense<0x3C01> : tensor<1xf16>
  check.expect_close %h, %eh : tensor<1xf16>, tensor<1xf16>
  return
}

func.func @cast_to_bfloat() {
  %x = graph.constant dense<[257.0, 259.0, 3.4e38, 0x7FC00000, 1.0e-40]> : tensor<5xf32>
  %y = graph.cast %x {to = bf16} : tensor<5xf32> -> tensor<5xbf16>
  %e = graph.constant dense<[256.0, 260.0, 0x7F80, 0x7FC0, 0x0001]> : tensor<5xbf16>
  check.expect_close %y, %e : tensor<5xbf16>, tensor<5xbf16>
  return
}

// 2^60 + 2^36 + 1 lies above the middle of two fp32 values; through fp64 it would fall onto the middle.
func.func @cast_wide_integer_rounds_once() {
  %x = graph.constant dense<1152921573326323713> : tensor<1xi64>
  %y = graph.cast %x {to = f32} : tensor<1xi64> -> tensor<1xf32>
  %e = graph.constant dense<0x5D800001> : tensor<1xf32>
  check.expect_close %y, %e : tensor<1xf32>, tensor<1xf32>
  return
}
