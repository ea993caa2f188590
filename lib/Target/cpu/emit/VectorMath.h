//===- VectorMath.h - pointwise functions as vector code ------------------===//
//
// Every function takes and returns `f32` or `vector<...xf32>` values and is built from arith, math.fma, math.sqrt and the
// rounding ops only: no libm call can reach the artefact. Special values are exact unless a line below says otherwise:
// NaN in, NaN out; +-Inf and +-0 as the limit says; denormals are honoured (the runtime never sets FTZ/DAZ).
// Errors are the maxima over every 251st of the 2^32 patterns against double libm (test/target/cpu/kernels/VectorMathTest):
//
//   function     max ulp   remark
//   exp          0.86      denormal results within 1 of 2^-149
//   log          0.80
//   tanh         1.35
//   erf          1.02
//   sigmoid      2.21      also where exp(-x) overflows
//   silu         3.01      where the result exceeds 1e-35; silu(-inf) = -0
//   softplus     2.06
//   sin, cos     1.5       full range (Payne-Hanek)
//   pow          0.5       in f64; constant exponents 2 and 3 multiply (1 ulp)
//   rsqrt        1.5
//   sqrt, reciprocal, floor, ceil, round, sign, relu, fmod, min, max: correctly rounded or exact
//   gelu         -         1.1e-6 max(1, |x|) absolute, exactly 0 below -5.6
//   gelu_tanh    -         2e-7 max(1, |x|) absolute
//
// f64 has its own set (VectorMathDouble*.cpp; no libm there either, and f32 precision would turn exp(100) into infinity):
//
//   exp 0.96   log 0.73   sin, cos 2.4 (full range)   tanh 2.2   erf 2.7   sigmoid 2.0   silu 2.6   softplus 1.7
//   gelu 5.4   pow 0.81 (exact results are exact)   fmod exact
//   gelu_tanh 900 at -20.5, where it is 1e-281: exp(2u) multiplies u's rounding by 2u
//   (VectorMathDoubleTest: random patterns and neighbours of special points against x87 libm)
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include "mlir/IR/Builders.h"

namespace gaudi::cpu {

/// `kind` of `x`. Result i1 (or vector of i1) for is_nan and is_inf; logical_not takes and gives i1. `x` is f32.
mlir::Value emitUnary(mlir::OpBuilder &builder, mlir::Location loc, graph::UnaryKind kind, mlir::Value x);

/// `kind` of two f32 operands of one type: arithmetic, pow, fmod, min/max (NaN if either is),
/// comparisons (i1). Logical kinds take i1. mod and bit kinds are
/// for integers only: unreachable.
mlir::Value emitBinary(mlir::OpBuilder &builder, mlir::Location loc, graph::BinaryKind kind, mlir::Value lhs,
                       mlir::Value rhs);

/// The same for f64: the kinds that are more than one instruction (exp, log, sin, cos, tanh, sigmoid, erf, gelu,
/// gelu_tanh, silu, softplus), and pow and fmod.
mlir::Value emitDoubleUnary(mlir::OpBuilder &builder, mlir::Location loc, graph::UnaryKind kind, mlir::Value x);
mlir::Value emitDoubleBinary(mlir::OpBuilder &builder, mlir::Location loc, graph::BinaryKind kind, mlir::Value lhs,
                             mlir::Value rhs);

/// 2^t for t <= 0, 9 operations: what softmax needs (t = (score - max) * log2(e), formed by one FMA outside).
/// Absolute error 1.2e-7, -inf gives exactly 0, NaN stays; results under 2^-126 are flushed to at most 2^-126.
mlir::Value emitExp2NonPositive(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value t);

/// f16, bf16 or f32 to f32, exact. f16 needs F16C (every target of ours but SSE4): `f16c` false selects integer code.
mlir::Value emitToF32(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, bool f16c = true);

/// f32 to `element` (f16, bf16 or f32), round to nearest even, NaN stays NaN (quiet), overflow to infinity.
mlir::Value emitFromF32(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, mlir::Type element,
                        bool f16c = true);

} // namespace gaudi::cpu
