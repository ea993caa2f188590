// Nothing of the signature and no launch goes away; constants and views that nobody reads do.
// RUN: gaudi-opt %s --canonicalize --cse | FileCheck %s

rt.kernel @copy scratch 0

// CHECK-LABEL: @main
func.func @main() {
  // CHECK-NEXT: %[[X:.*]] = rt.input 0 "x"
  %x = rt.input 0 "x" tensor<3xf32> : <12>
  // CHECK-NEXT: rt.input 1 "unused"
  %unused = rt.input 1 "unused" tensor<3xf32> : <12>
  %c = rt.const dense<1.0> : tensor<3xf32> : <12>
  %v = rt.view %x[4] : <12> -> <8>
  // CHECK-NEXT: %[[Y:.*]] = rt.output 0 "y"
  %y = rt.output 0 "y" tensor<3xf32> : <12>
  // CHECK-NEXT: %[[Z:.*]] = rt.output 1 "z"
  %z = rt.output 1 "z" tensor<3xf32> : <12>
  // CHECK-NEXT: rt.launch @copy {{.*}}(%[[X]]) -> (%[[Y]])
  rt.launch @copy grid 1 chunk 1 (%x) -> (%y) in_place [array<i64>] flops 0.0 bytes 24.0 : (!rt.buffer<12>) -> (!rt.buffer<12>)
  // CHECK-NEXT: rt.launch @copy {{.*}}(%[[X]]) -> (%[[Z]])
  rt.launch @copy grid 1 chunk 1 (%x) -> (%z) in_place [array<i64>] flops 0.0 bytes 24.0 : (!rt.buffer<12>) -> (!rt.buffer<12>)
  // CHECK-NEXT: return
  return
}

// Two allocs are two pieces of memory, though they look alike.
// CHECK-LABEL: @memory
func.func @memory() {
  // CHECK-COUNT-2: rt.alloc "t"
  %a = rt.alloc "t" : <12>
  %b = rt.alloc "t" : <12>
  // One constant is enough.
  // CHECK: %[[C:.*]] = rt.const
  // CHECK-NOT: rt.const
  %c = rt.const dense<1.0> : tensor<3xf32> : <12>
  %d = rt.const dense<1.0> : tensor<3xf32> : <12>
  // CHECK: rt.launch {{.*}}(%[[C]], %[[C]])
  rt.launch @copy grid 1 chunk 1 (%c, %d) -> (%a, %b) in_place [array<i64>, array<i64>] flops 0.0 bytes 24.0
    : (!rt.buffer<12>, !rt.buffer<12>) -> (!rt.buffer<12>, !rt.buffer<12>)
  return
}
