//===- Locations.cpp - which value of the model is this? ------------------===//
#include "dialects/graph/Locations.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace gaudi;

/// Applies `change` to the NameLocs of a location.
static Location mapNames(Location loc, llvm::function_ref<Location(NameLoc)> change) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return change(name);
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused)
    return loc;
  auto parts = llvm::map_to_vector(fused.getLocations(), [&](Location part) { return mapNames(part, change); });
  return FusedLoc::get(loc.getContext(), parts, fused.getMetadata());
}

Location graph::withValueName(Location node, StringRef value) {
  Location child = NameLoc::get(StringAttr::get(node.getContext(), value));
  return mapNames(node, [&](NameLoc name) { return NameLoc::get(name.getName(), child); });
}

Location graph::withoutValueName(Location loc) {
  return mapNames(loc, [](NameLoc name) { return NameLoc::get(name.getName()); });
}

void graph::passOnValueName(Operation *op, ValueRange values) {
  Operation *heir = values.size() == 1 ? values.front().getDefiningOp() : nullptr;
  if (heir && heir != op && !valueName(op->getLoc()).empty() && valueName(heir->getLoc()).empty())
    heir->setLoc(FusedLoc::get(op->getContext(), {heir->getLoc(), op->getLoc()}));
}

StringRef graph::valueName(Location loc) {
  if (auto fused = dyn_cast<FusedLoc>(loc))
    return fused.getLocations().empty() ? StringRef() : valueName(fused.getLocations().back());
  auto name = dyn_cast<NameLoc>(loc);
  auto child = name ? dyn_cast<NameLoc>(name.getChildLoc()) : nullptr;
  return child ? child.getName().getValue() : StringRef();
}
