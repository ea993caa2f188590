//===- RtOps.cpp - verifiers of rt ops ------------------------------------===//
#include "dialects/rt/Rt.h"

using namespace mlir;
using namespace gaudi::rt;

#define GET_OP_CLASSES
#include "dialects/rt/RtOps.cpp.inc"

// C1
LogicalResult ViewOp::verify() {
  uint64_t have = getSource().getType().getSizeBytes(), size = getBuffer().getType().getSizeBytes();
  uint64_t offset = getOffset();
  if (getOffset() < 0 || offset > have || size > have - offset)
    return emitOpError("view of bytes [") << getOffset() << ", " << offset + size << ") is outside a buffer of " << have
                                          << " bytes";
  return success();
}

LogicalResult LaunchOp::verify() {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel) // C1
    return emitOpError("kernel @") << getKernel() << " is not declared";
  if (getInPlace().size() != getWrites().size()) // C2
    return emitOpError("in_place has ") << getInPlace().size() << " entries, expected " << getWrites().size();
  for (Attribute entry : getInPlace()) {
    auto positions = dyn_cast<DenseI64ArrayAttr>(entry);
    if (!positions)
      return emitOpError("in_place entry is not an array<i64>");
    for (int64_t p : positions.asArrayRef())
      if (p < 0 || p >= static_cast<int64_t>(getReads().size()))
        return emitOpError("in_place position ") << p << " is outside [0, " << getReads().size() << ")";
  }
  return success();
}
