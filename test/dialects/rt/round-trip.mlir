// Every op parses, prints and parses again to the same text.
// RUN: gaudi-opt %s | gaudi-opt | FileCheck %s
// RUN: gaudi-opt %s --mlir-print-op-generic | gaudi-opt | FileCheck %s

// CHECK: module attributes {rt.files = ["m.onnx"]}
module attributes {rt.files = ["m.onnx"]} {
  // CHECK: rt.kernel @dense scratch 192
  rt.kernel @dense scratch 192
  // CHECK: rt.kernel @split scratch 0
  rt.kernel @split scratch 0

  // CHECK-LABEL: func.func @main()
  func.func @main() {
    // CHECK: %[[X:.*]] = rt.input 0 "x" tensor<2x3xf32> : <24>
    %x = rt.input 0 "x" tensor<2x3xf32> : <24>
    // CHECK: %[[W:.*]] = rt.const #graph.weight<"a \22w\22", 0, 64, 60> : tensor<3x5xf32> panels <8, false, 3, 5> : <96>
    %w = rt.const #graph.weight<"a \"w\"", 0, 64, 60> : tensor<3x5xf32> panels <8, false, 3, 5> : <96>
    // CHECK: %[[B:.*]] = rt.const dense<[1, 0, 1]> : tensor<3xi8> : <3>
    %b = rt.const dense<[1, 0, 1]> : tensor<3xi8> : <3>
    // CHECK: %[[H:.*]] = rt.alloc "h" : <40>
    %h = rt.alloc "h" : <40>
    // CHECK: %[[T:.*]] = rt.alloc "t" at 64 : <24>
    %t = rt.alloc "t" at 64 : <24>
    // CHECK: rt.launch @dense grid 2 chunk 1(%[[X]], %[[W]], %[[B]]) -> (%[[H]]) in_place [array<i64: 0>]
    // CHECK-SAME: flops 6.000000e+01 bytes 1.300000e+02 : (!rt.buffer<24>, !rt.buffer<96>, !rt.buffer<3>) -> !rt.buffer<40>
    rt.launch @dense grid 2 chunk 1 (%x, %w, %b) -> (%h) in_place [array<i64: 0>] flops 6.0e+01 bytes 1.3e+02
      : (!rt.buffer<24>, !rt.buffer<96>, !rt.buffer<3>) -> !rt.buffer<40>
    // CHECK: %[[V:.*]] = rt.view %[[H]][8] : <40> -> <24>
    %v = rt.view %h[8] : <40> -> <24>
    // CHECK: %[[Y:.*]] = rt.output 0 "y" tensor<6xf32> : <24>
    %y = rt.output 0 "y" tensor<6xf32> : <24>
    // CHECK: rt.launch @split grid 0 chunk 7(%[[V]]) -> (%[[Y]], %[[T]]) in_place [array<i64>, array<i64: 0>]
    rt.launch @split grid 0 chunk 7 (%v) -> (%y, %t) in_place [array<i64>, array<i64: 0>] flops 0.0e+00 bytes 0.0e+00
      : (!rt.buffer<24>) -> (!rt.buffer<24>, !rt.buffer<24>)
    return
  }
}
