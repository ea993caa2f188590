//===- CheckDialect.cpp - registration and verifiers of check -------------===//
#include "dialects/check/Check.h"

#include <cmath>

using namespace mlir;
using namespace gaudi::check;

#include "dialects/check/CheckDialect.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/check/CheckOps.cpp.inc"

void CheckDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/check/CheckOps.cpp.inc"
      >();
}

LogicalResult ExpectCloseOp::verify() {
  auto actual = cast<RankedTensorType>(getActual().getType()),
       expected = cast<RankedTensorType>(getExpected().getType());
  if (actual.getElementType() != expected.getElementType() || failed(verifyCompatibleShape(actual, expected))) // C1
    return emitOpError("types differ: ") << actual << " vs " << expected;
  for (auto [name, value] : {std::pair("atol", getAtol()), std::pair("rtol", getRtol())})
    if (!value.isFinite() || value.convertToDouble() < 0) // C2
      return emitOpError() << name << " is " << value.convertToDouble() << ", expected a finite number >= 0";
  return success();
}
