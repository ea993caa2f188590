//===- Names.cpp - names and dtypes shared by the driver's steps ----------===//
#include "lib/Driver/Names.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace gaudi;

static void collectNames(Location loc, SmallVectorImpl<StringRef> &names) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    if (!llvm::is_contained(names, name.getName().getValue()))
      names.push_back(name.getName());
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      collectNames(part, names);
  }
}

std::string gaudi::driver::launchName(Location loc) {
  SmallVector<StringRef> names;
  collectNames(loc, names);
  constexpr size_t shown = 3; // a group of 20 nodes is recognised by its first few
  std::string text = llvm::join(ArrayRef<StringRef>(names).take_front(shown), " + ");
  return names.size() > shown ? text + " + " + std::to_string(names.size() - shown) + " more" : text;
}

DType gaudi::driver::dtypeOf(Type type) {
  if (type.isF32())
    return DType::F32;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF64())
    return DType::F64;
  auto integer = cast<IntegerType>(type);
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return DType::Bool;
  case 8:
    return isUnsigned ? DType::U8 : DType::I8;
  case 16:
    return isUnsigned ? DType::U16 : DType::I16;
  case 32:
    return isUnsigned ? DType::U32 : DType::I32;
  case 64:
    return isUnsigned ? DType::U64 : DType::I64;
  }
  llvm_unreachable("the graph dialect has no other element type");
}
