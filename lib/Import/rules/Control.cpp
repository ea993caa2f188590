//===- Control.cpp - control flow that is known at import -----------------===//
#include "lib/Import/Importer.h"
#include "lib/Import/Rules.h"

using namespace mlir;

namespace gaudi::import {

/// If-1..25: a condition that is known now chooses the branch; the branch sees all values around it.
static void importIf(Node &node) {
  auto condition = node.knownScalar(node.input(0));
  if (!condition)
    return node.unsupported("the condition is computed at run time");
  StringRef name = *condition != 0 ? "then_branch" : "else_branch";
  const auto *branch = node.attribute(name);
  if (!branch || !branch->has_g())
    return node.invalid("attribute '" + name + "' is missing");
  if (branch->g().output_size() != node.proto.output_size())
    return node.invalid(name + " has " + Twine(branch->g().output_size()) + " outputs, the node " +
                        Twine(node.proto.output_size()));
  auto values = node.importer.importBranch(branch->g(), node.frame);
  for (auto [i, value] : llvm::enumerate(values))
    node.result(static_cast<int>(i), value);
}

static void importLoop(Node &node) {
  auto trips = node.has(0) ? node.knownScalar(node.input(0)) : std::nullopt;
  constexpr double maxTrips = 1 << 20;
  if (!trips || *trips > maxTrips)
    return node.unsupported("trip count not bounded; unsupported");
  node.unsupported("loops are not supported yet");
}

ArrayRef<Rule> controlRules() {
  static const Rule rules[] = {
      {"", "If", 1, importIf, 0, "the condition must be known at compile time"},
      {"", "Loop", 1, importLoop, 0, "refused: loops are not supported yet"},
  };
  return rules;
}

} // namespace gaudi::import
