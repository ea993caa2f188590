//===- Rules.cpp - the list of import rules -------------------------------===//
#include "lib/Import/Rules.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace gaudi::import {

/// The one list. A new family adds a line here and a file in rules/.
ArrayRef<ArrayRef<Rule>> allRules() {
  static const ArrayRef<Rule> families[] = {
      elementwiseRules(),      activationRules(), shapeRules(), sliceRules(),     dataRules(),    reduceRules(),
      matmulRules(),           einsumRules(),     normRules(),  attentionRules(), controlRules(), contribRules(),
      contribAttentionRules(),
  };
  return families;
}

const Rule *findRule(StringRef domain, StringRef op, int64_t opset, int64_t *earliest) {
  using Key = std::pair<StringRef, StringRef>;
  static const DenseMap<Key, SmallVector<const Rule *>> index = [] {
    DenseMap<Key, SmallVector<const Rule *>> map;
    for (ArrayRef<Rule> family : allRules())
      for (const Rule &rule : family)
        map[{rule.domain, rule.op}].push_back(&rule);
    return map;
  }();
  const Rule *best = nullptr;
  if (earliest)
    *earliest = 0;
  auto found = index.find({domain, op});
  if (found == index.end())
    return nullptr;
  for (const Rule *rule : found->second) {
    if (rule->since <= opset && (!best || rule->since > best->since))
      best = rule;
    if (earliest && (*earliest == 0 || rule->since < *earliest))
      *earliest = rule->since;
  }
  return best;
}

std::string nearestOperator(StringRef op) {
  StringRef best;
  unsigned bestDistance = 4; // further away is no typo
  for (ArrayRef<Rule> family : allRules()) {
    for (const Rule &rule : family) {
      unsigned distance = op.edit_distance(rule.op, true, bestDistance);
      if (distance < bestDistance) {
        bestDistance = distance;
        best = rule.op;
      }
    }
  }
  return best.str();
}

} // namespace gaudi::import
