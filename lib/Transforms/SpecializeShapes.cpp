//===- SpecializeShapes.cpp - set argument shapes, fold shape arithmetic --===//
#include "lib/Transforms/Fold.h"
#include "lib/Transforms/Match.h"
#include "lib/Transforms/Passes.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

#define GEN_PASS_DEF_SPECIALIZESHAPES
#include "lib/Transforms/Passes.h.inc"

namespace {

/// "name=2x7" -> dims. Nullopt if a dim is no non-negative number.
std::optional<std::pair<StringRef, SmallVector<int64_t>>> parseShape(StringRef text) {
  auto [name, list] = text.rsplit('=');
  SmallVector<int64_t> dims;
  while (!list.empty()) {
    auto [head, tail] = list.split('x');
    int64_t dim;
    if (head.getAsInteger(10, dim) || dim < 0)
      return std::nullopt;
    dims.push_back(dim);
    list = tail;
  }
  return std::pair(name, dims);
}

std::string argumentName(func::FuncOp func, unsigned index) {
  if (auto name = func.getArgAttrOfType<StringAttr>(index, "graph.name"))
    return name.str();
  return ("arg" + Twine(index)).str();
}

struct SpecializeShapesPass : impl::SpecializeShapesBase<SpecializeShapesPass> {
  using SpecializeShapesBase::SpecializeShapesBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    for (const std::string &text : shapes)
      if (failed(setArgument(func, text)))
        return signalPassFailure();
    // Defs come before uses, so one sweep settles types and constants together.
    for (Operation &op : func.getBody().front().without_terminator()) {
      operandsToAttributes(&op);
      if (failed(refineTypes(&op)))
        return signalPassFailure();
      bool isInteger =
          llvm::none_of(op.getResultTypes(), [](Type t) { return isa<FloatType>(getElementTypeOrSelf(t)); });
      // Scalar floats take part in shape arithmetic too (sqrt of a head size, floor of a scaled dim).
      bool isSmall = llvm::all_of(op.getResults(), [](Value v) {
        return tensorType(v).hasStaticShape() && tensorType(v).getNumElements() <= 16;
      });
      if ((isInteger || isSmall) && failed(foldOp(&op)))
        return signalPassFailure();
    }
    eraseDead(func);
    updateReturnTypes(func);
  }

  LogicalResult setArgument(func::FuncOp func, StringRef text) {
    auto parsed = parseShape(text);
    if (!parsed)
      return func.emitError("shape option '") << text << "' is not of the form name=2x7";
    for (BlockArgument argument : func.getArguments()) {
      if (argumentName(func, argument.getArgNumber()) != parsed->first)
        continue;
      RankedTensorType wanted = tensorType(argument).clone(parsed->second);
      if (failed(verifyCompatibleShape(argument.getType(), wanted)))
        return func.emitError("argument '")
               << parsed->first << "' of type " << argument.getType() << " cannot have type " << wanted;
      argument.setType(wanted);
      return success();
    }
    return func.emitError("no argument is named '") << parsed->first << "'";
  }
};

} // namespace
} // namespace gaudi::transforms
