//===- GroupText.cpp - a group as a module of its own ---------------------===//
#include "lib/Target/GroupText.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;
using namespace gaudi;

func::FuncOp gaudi::cloneToFunction(OpBuilder &b, graph::GroupOp group, StringRef name) {
  Location loc = b.getUnknownLoc();
  OpBuilder::InsertionGuard guard(b);
  auto type = b.getFunctionType(group.getInputs().getTypes(), group.getResultTypes());
  auto func = func::FuncOp::create(b, loc, name, type);
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  IRMapping mapping;
  mapping.map(group.getInputs(), entry->getArguments());
  // Repeated operands map to their last argument; restore the one-to-one order.
  auto copy = cast<graph::GroupOp>(b.clone(*group, mapping));
  copy->setOperands(entry->getArguments());
  func::ReturnOp::create(b, loc, copy.getResults());
  return func;
}

std::string gaudi::groupText(graph::GroupOp group) {
  OpBuilder b(group.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToStart(module->getBody());
  cloneToFunction(b, group, "group");
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out);
  return text;
}
