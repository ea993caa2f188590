//===- GraphDialect.cpp - registration, common type rules, costs ----------===//
#include "dialects/graph/Graph.h"
#include "dialects/graph/Infer.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

#include "dialects/graph/GraphDialect.cpp.inc"
#include "dialects/graph/GraphEnums.cpp.inc"
#include "dialects/graph/GraphInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttrs.cpp.inc"

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/graph/GraphAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/graph/GraphOps.cpp.inc"
      >();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  if (auto typed = dyn_cast<TypedAttr>(value); typed && isa<ElementsAttr, WeightAttr>(value) && typed.getType() == type)
    return ConstantOp::create(builder, loc, typed);
  return nullptr;
}

LogicalResult WeightAttr::verify(function_ref<InFlightDiagnostic()> emitError, Type type, StringRef name, uint32_t,
                                 uint64_t offset, uint64_t length) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
    return emitError() << "weight '" << name << "' has type " << type << ", expected a static tensor";
  std::optional<int64_t> count = elementCount(tensor.getShape());
  uint64_t width = (tensor.getElementTypeBitWidth() + 7) / 8;
  if (!count || static_cast<uint64_t>(*count) > UINT64_MAX / width)
    return emitError() << "weight '" << name << "' of type " << type << " has too many elements";
  if (length != *count * width || offset > UINT64_MAX - length)
    return emitError() << "weight '" << name << "' has bytes [" << offset << ", " << offset << " + " << length
                       << "), expected " << *count * width << " bytes for " << type;
  return success();
}

bool graph::compatibleTypes(TypeRange inferred, TypeRange declared) {
  return llvm::all_of_zip(inferred, declared, [](Type a, Type b) {
    auto x = dyn_cast<RankedTensorType>(a), y = dyn_cast<RankedTensorType>(b);
    return x && y && x.getElementType() == y.getElementType() && succeeded(verifyCompatibleShape(x, y));
  });
}

/// In double: 2^31 scores and more must not wrap.
static double elementsOf(RankedTensorType type) {
  double count = 1;
  for (int64_t d : type.getShape())
    count *= static_cast<double>(d);
  return count;
}

Cost graph::defaultCost(Operation *op) {
  Cost cost;
  auto add = [&](Type type, bool isResult) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return;
    cost.bytes += elementsOf(tensor) * ((tensor.getElementTypeBitWidth() + 7) / 8);
    cost.flops += isResult ? elementsOf(tensor) : 0;
  };
  for (Type type : op->getOperandTypes())
    add(type, false);
  for (Type type : op->getResultTypes())
    add(type, true);
  return cost;
}
