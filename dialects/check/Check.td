//===- Check.td - numeric assertions for executable lit tests -------------===//
#ifndef GAUDI_CHECK
#define GAUDI_CHECK

include "mlir/IR/OpBase.td"
include "dialects/graph/GraphBase.td"

def Check_Dialect : Dialect {
  let name = "check";
  let cppNamespace = "::gaudi::check";
  let summary = "Numeric assertions for executable tests";
  let description = [{
    With it a lit test states a numeric fact beside the ops it is about; `--run-checks` evaluates every function without
    arguments and reports what does not hold (Run.h). Not part of any compiled model.
  }];
}

// Not Pure: a check has no result and must survive dead code elimination.
class Check_Op<string mnemonic> : Op<Check_Dialect, mnemonic>;

def Check_ExpectCloseOp : Check_Op<"expect_close"> {
  let summary = "|actual - expected| <= atol + rtol |expected| for every element";
  let description = [{
    NaN matches NaN, an infinity only itself. With both tolerances 0 (the default) floats must be identical, including
    the sign of zero. C1: equal types. C2: tolerances are finite and not negative.
    Example: `check.expect_close %y, %expected {atol = 1.0e-6 : f64} : tensor<3xf32>, tensor<3xf32>`
  }];
  let arguments = (ins Graph_Tensor:$actual, Graph_Tensor:$expected, DefaultValuedAttr<F64Attr, "0.0">:$atol,
                       DefaultValuedAttr<F64Attr, "0.0">:$rtol);
  let hasVerifier = 1;
  let assemblyFormat = "$actual `,` $expected attr-dict `:` type($actual) `,` type($expected)";
}

def Check_ExpectFiniteOp : Check_Op<"expect_finite"> {
  let summary = "no element is NaN or infinite";
  let description = [{ Example: `check.expect_finite %y : tensor<3xf32>` }];
  let arguments = (ins Graph_FloatTensor:$actual);
  let assemblyFormat = "$actual attr-dict `:` type($actual)";
}

#endif
