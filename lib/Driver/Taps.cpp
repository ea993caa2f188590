//===- Taps.cpp - intermediate values as extra results --------------------===//
#include "lib/Driver/Taps.h"

#include "dialects/graph/Graph.h"
#include "dialects/graph/Locations.h"
#include "lib/Driver/Frame.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::driver;

/// The name of what a group computes; that of a view of it will do as well.
static StringRef nameOf(OpResult result) {
  auto group = cast<graph::GroupOp>(result.getOwner());
  Value yielded = group.getBody().front().getTerminator()->getOperand(result.getResultNumber());
  if (Operation *op = yielded.getDefiningOp())
    if (StringRef name = graph::valueName(op->getLoc()); !name.empty())
      return name;
  for (Operation *user : result.getUsers())
    if (isa<graph::ReshapeOp>(user))
      if (StringRef name = graph::valueName(user->getLoc()); !name.empty())
        return name;
  return {};
}

unsigned gaudi::driver::addTaps(func::FuncOp main) {
  Operation *terminator = main.front().getTerminator();
  llvm::DenseSet<Value> returned;
  for (Value value : terminator->getOperands())
    returned.insert(storageOf(value));

  // A later op of the same name wins: what came before was on the way to it.
  llvm::MapVector<StringRef, Value> taps;
  for (auto group : main.getOps<graph::GroupOp>())
    for (OpResult result : group->getResults())
      if (StringRef name = nameOf(result); !name.empty() && !returned.contains(result)) {
        taps.erase(name);
        taps.insert({name, result});
      }

  SmallVector<Type> results(main.getResultTypes());
  Builder b(main.getContext());
  terminator->insertOperands(terminator->getNumOperands(),
                             llvm::map_to_vector(taps, [](auto &tap) { return tap.second; }));
  main.setType(b.getFunctionType(main.getArgumentTypes(), terminator->getOperandTypes()));
  for (auto [i, tap] : llvm::enumerate(taps))
    main.setResultAttr(results.size() + i, "graph.name", b.getStringAttr("tap:" + Twine(tap.first)));
  return taps.size();
}
