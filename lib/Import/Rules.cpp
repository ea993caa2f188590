//===- Rules.cpp - the explicit list of rule families ---------------------===//
#include "lib/Import/Rules.h"

#include "llvm/ADT/StringMap.h"

using namespace gaudi;
using namespace gaudi::import;

static const llvm::StringMap<llvm::SmallVector<const RuleRow *>> &table() {
  static const auto *rows = [] {
    auto *map = new llvm::StringMap<llvm::SmallVector<const RuleRow *>>();
    for (auto family : {elementwiseRules(), shapeRules(), dataRules(), reduceRules(), matmulRules(), normRules(),
                        attentionRules(), contribRules()})
      for (const RuleRow &row : family)
        (*map)[(llvm::Twine(row.domain) + "::" + row.op).str()].push_back(&row);
    return map;
  }();
  return *rows;
}

Rule import::findRule(llvm::StringRef domain, llvm::StringRef op, int64_t opset, bool &known) {
  auto it = table().find((domain + "::" + op).str());
  known = it != table().end();
  const RuleRow *best = nullptr;
  if (known)
    for (const RuleRow *row : it->second)
      if (row->since <= opset && (!best || row->since > best->since))
        best = row;
  return best ? best->rule : nullptr;
}
