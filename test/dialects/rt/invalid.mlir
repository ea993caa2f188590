// Every rule of Rt.td has a case that breaks it.
// RUN: gaudi-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{scratch is -8 bytes, expected at least 0}}
rt.kernel @k scratch -8

// -----

// expected-error @+1 {{buffer of -4 bytes, expected at least 0}}
func.func @buffer_size(%x: !rt.buffer<-4>) { return }

// -----

func.func @input_c1_not_static() {
  // expected-error @+1 {{needs a static tensor type, found 'tensor<?xf32>'}}
  %x = rt.input 0 "x" tensor<?xf32> : <12>
  return
}

// -----

func.func @input_c1_size() {
  // expected-error @+1 {{buffer of 8 bytes does not hold 'tensor<3xf32>' (expected 12)}}
  %x = rt.input 0 "x" tensor<3xf32> : <8>
  return
}

// -----

func.func @input_c2_twice() {
  // expected-error @+1 {{index 0 is used twice ('x', 'y')}}
  %x = rt.input 0 "x" tensor<3xf32> : <12>
  %y = rt.input 0 "y" tensor<3xf32> : <12>
  return
}

// -----

func.func @input_c2_gap() {
  // expected-error @+1 {{index 1 is outside [0, 1)}}
  %x = rt.input 1 "x" tensor<3xf32> : <12>
  return
}

// -----

func.func @input_c2_negative() {
  // expected-error @+1 {{index -1 is outside [0, 1)}}
  %x = rt.input -1 "x" tensor<3xf32> : <12>
  return
}

// -----

func.func @output_c1() {
  // expected-error @+1 {{needs a static tensor type, found 'memref<3xf32>'}}
  %y = rt.output 0 "y" memref<3xf32> : <12>
  return
}

// -----

// A bool takes a byte.
func.func @output_c1_size() {
  // expected-error @+1 {{buffer of 1 bytes does not hold 'tensor<8xi1>' (expected 8)}}
  %y = rt.output 0 "y" tensor<8xi1> : <1>
  return
}

// -----

func.func @output_c2() {
  %y = rt.output 1 "y" tensor<3xf32> : <12>
  // expected-error @+1 {{index 2 is outside [0, 2)}}
  %z = rt.output 2 "z" tensor<3xf32> : <12>
  return
}

// -----

func.func @output_c2_twice() {
  // expected-error @+1 {{index 0 is used twice ('y', 'z')}}
  %y = rt.output 0 "y" tensor<3xf32> : <12>
  %z = rt.output 0 "z" tensor<3xf32> : <12>
  return
}

// -----

func.func @const_c1() {
  // expected-error @+1 {{needs a static tensor, found 'i64'}}
  %c = rt.const 7 : i64 : <8>
  return
}

// -----

func.func @const_c2_shape() {
  // expected-error @+1 {{panels are for 3x5, the value is 'tensor<5x3xf32>'}}
  %c = rt.const dense<1.0> : tensor<5x3xf32> panels <8, false, 3, 5> : <96>
  return
}

// -----

func.func @const_c2_transposed() {
  // expected-error @+1 {{panels are for 5x3, the value is 'tensor<3x5xf32>'}}
  %c = rt.const dense<1.0> : tensor<3x5xf32> panels <8, true, 3, 5> : <96>
  return
}

// -----

func.func @const_c2_rank() {
  // expected-error @+1 {{panels are for 3x5, the value is 'tensor<15xf32>'}}
  %c = rt.const dense<1.0> : tensor<15xf32> panels <8, false, 3, 5> : <96>
  return
}

// -----

func.func @const_c3() {
  // expected-error @+1 {{buffer of 16 bytes does not hold the value (expected 12)}}
  %c = rt.const dense<1.0> : tensor<3xf32> : <16>
  return
}

// -----

func.func @const_c3_panels() {
  // expected-error @+1 {{buffer of 60 bytes does not hold the value (expected 96)}}
  %c = rt.const dense<1.0> : tensor<3x5xf32> panels <8, false, 3, 5> : <60>
  return
}

// -----

func.func @panels_c1_width() {
  // expected-error @+1 {{panels of 0 columns for 3x5, expected sizes that are not negative}}
  %c = rt.const dense<1.0> : tensor<3x5xf32> panels <0, false, 3, 5> : <60>
  return
}

// -----

func.func @panels_c1_size() {
  // expected-error @+1 {{panels of 8 columns for 3x-5, expected sizes that are not negative}}
  %c = rt.const dense<1.0> : tensor<3x5xf32> panels <8, false, 3, -5> : <60>
  return
}

// -----

func.func @alloc_c1() {
  // expected-error @+1 {{offset is -64, expected at least 0}}
  %a = rt.alloc "a" at -64 : <12>
  return
}

// -----

func.func @view_c1_end() {
  %x = rt.input 0 "x" tensor<3xf32> : <12>
  // expected-error @+1 {{view of 8 bytes at 8 is outside a buffer of 12 bytes}}
  %v = rt.view %x[8] : <12> -> <8>
  return
}

// -----

func.func @view_c1_negative() {
  %x = rt.input 0 "x" tensor<3xf32> : <12>
  // expected-error @+1 {{view of 4 bytes at -4 is outside a buffer of 12 bytes}}
  %v = rt.view %x[-4] : <12> -> <4>
  return
}

// -----

// The end does not fit into 63 bits.
func.func @view_c1_overflow() {
  %x = rt.input 0 "x" tensor<3xf32> : <12>
  // expected-error @+1 {{view of 9223372036854775807 bytes at 9223372036854775807 is outside a buffer of 12 bytes}}
  %v = rt.view %x[9223372036854775807] : <12> -> <9223372036854775807>
  return
}

// -----

func.func @view_before_definition() {
  // expected-error @+1 {{operand #0 does not dominate this use}}
  %v = rt.view %x[0] : <12> -> <4>
  // expected-note @+1 {{operand defined here (op in the same block)}}
  %x = rt.input 0 "x" tensor<3xf32> : <12>
  return
}

// -----

func.func @launch_c1() {
  // expected-error @+1 {{kernel @k is not declared}}
  rt.launch @k grid 1 chunk 1 () -> () in_place [] flops 0.0 bytes 0.0 : () -> ()
  return
}

// -----

func.func @launch_c1_no_kernel() {
  // expected-error @+1 {{kernel @launch_c1_no_kernel is not declared}}
  rt.launch @launch_c1_no_kernel grid 1 chunk 1 () -> () in_place [] flops 0.0 bytes 0.0 : () -> ()
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c2_entries() {
  %a = rt.alloc "a" : <12>
  // expected-error @+1 {{in_place has 0 entries, expected 1}}
  rt.launch @k grid 1 chunk 1 () -> (%a) in_place [] flops 0.0 bytes 0.0 : () -> (!rt.buffer<12>)
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c2_type() {
  %a = rt.alloc "a" : <12>
  // expected-error @+1 {{in_place entry is not an array<i64>}}
  rt.launch @k grid 1 chunk 1 () -> (%a) in_place [0] flops 0.0 bytes 0.0 : () -> (!rt.buffer<12>)
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c2_position() {
  %x = rt.input 0 "x" tensor<3xf32> : <12>
  %a = rt.alloc "a" : <12>
  // expected-error @+1 {{in_place position 1 is outside [0, 1)}}
  rt.launch @k grid 1 chunk 1 (%x) -> (%a) in_place [array<i64: 0, 1>] flops 0.0 bytes 0.0 : (!rt.buffer<12>) -> (!rt.buffer<12>)
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c2_negative() {
  %x = rt.input 0 "x" tensor<3xf32> : <12>
  %a = rt.alloc "a" : <12>
  // expected-error @+1 {{in_place position -1 is outside [0, 1)}}
  rt.launch @k grid 1 chunk 1 (%x) -> (%a) in_place [array<i64: -1>] flops 0.0 bytes 0.0 : (!rt.buffer<12>) -> (!rt.buffer<12>)
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c3_grid() {
  // expected-error @+1 {{grid is -1, expected at least 0}}
  rt.launch @k grid -1 chunk 1 () -> () in_place [] flops 0.0 bytes 0.0 : () -> ()
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c3_chunk() {
  // expected-error @+1 {{chunk is 0, expected at least 1}}
  rt.launch @k grid 1 chunk 0 () -> () in_place [] flops 0.0 bytes 0.0 : () -> ()
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c3_flops() {
  // expected-error @+1 {{flops is -1.000000e+00, expected a finite number >= 0}}
  rt.launch @k grid 1 chunk 1 () -> () in_place [] flops -1.0 bytes 0.0 : () -> ()
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c3_bytes() {
  // expected-error @+1 {{bytes is nan, expected a finite number >= 0}}
  rt.launch @k grid 1 chunk 1 () -> () in_place [] flops 0.0 bytes 0x7FF8000000000000 : () -> ()
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c4_input() {
  %x = rt.input 0 "x" tensor<3xf32> : <12>
  // expected-error @+1 {{write 0 goes to 'rt.input', which is read-only}}
  rt.launch @k grid 1 chunk 1 () -> (%x) in_place [array<i64>] flops 0.0 bytes 0.0 : () -> (!rt.buffer<12>)
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c4_const() {
  %c = rt.const dense<1.0> : tensor<3xf32> : <12>
  %v = rt.view %c[4] : <12> -> <8>
  // expected-error @+1 {{write 0 goes to 'rt.const', which is read-only}}
  rt.launch @k grid 1 chunk 1 () -> (%v) in_place [array<i64>] flops 0.0 bytes 0.0 : () -> (!rt.buffer<8>)
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c4_overlap() {
  %a = rt.alloc "a" : <12>
  %b = rt.view %a[0] : <12> -> <8>
  %c = rt.view %a[4] : <12> -> <8>
  %d = rt.view %c[0] : <8> -> <4>
  // expected-error @+1 {{writes 0 and 1 overlap}}
  rt.launch @k grid 1 chunk 1 () -> (%b, %d) in_place [array<i64>, array<i64>] flops 0.0 bytes 0.0
    : () -> (!rt.buffer<8>, !rt.buffer<4>)
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c5_never_written() {
  %a = rt.alloc "a" : <12>
  %b = rt.alloc "b" : <12>
  // expected-error @+1 {{read 0 has not been written by an earlier launch}}
  rt.launch @k grid 1 chunk 1 (%a) -> (%b) in_place [array<i64>] flops 0.0 bytes 0.0 : (!rt.buffer<12>) -> (!rt.buffer<12>)
  return
}

// -----

rt.kernel @k scratch 0
func.func @launch_c5_written_later() {
  %y = rt.output 0 "y" tensor<3xf32> : <12>
  %b = rt.alloc "b" : <8>
  %v = rt.view %y[4] : <12> -> <8>
  // expected-error @+1 {{read 0 has not been written by an earlier launch}}
  rt.launch @k grid 1 chunk 1 (%v) -> (%b) in_place [array<i64>] flops 0.0 bytes 0.0 : (!rt.buffer<8>) -> (!rt.buffer<8>)
  rt.launch @k grid 1 chunk 1 (%b) -> (%y) in_place [array<i64>] flops 0.0 bytes 0.0 : (!rt.buffer<8>) -> (!rt.buffer<12>)
  return
}

// -----

// Parts of one alloc may be written apart and read as a whole: a concat.
rt.kernel @k scratch 0
func.func @parts() {
  %a = rt.alloc "a" : <12>
  %b = rt.view %a[0] : <12> -> <4>
  %c = rt.view %a[4] : <12> -> <8>
  %y = rt.output 0 "y" tensor<3xf32> : <12>
  rt.launch @k grid 1 chunk 1 () -> (%b, %c) in_place [array<i64>, array<i64>] flops 0.0 bytes 0.0
    : () -> (!rt.buffer<4>, !rt.buffer<8>)
  rt.launch @k grid 1 chunk 1 (%a) -> (%y) in_place [array<i64>] flops 0.0 bytes 0.0 : (!rt.buffer<12>) -> (!rt.buffer<12>)
  return
}
