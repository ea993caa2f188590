//===- PrintGroups.cpp - histogram of groups and kernels -------------------===//
#include "lib/Transforms/GroupKey.h"
#include "lib/Transforms/Passes.h"

#include <map>
#include <set>

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::transforms {

#define GEN_PASS_DEF_PRINTGROUPS
#include "lib/Transforms/Passes.h.inc"

namespace {

/// One line per kind, for example `matmul: 74 groups, 4 kernels`.
struct PrintGroupsPass : impl::PrintGroupsBase<PrintGroupsPass> {
  void runOnOperation() override {
    std::map<std::string, std::pair<unsigned, std::set<std::string>>> kinds;
    getOperation().walk([&](GroupOp group) {
      SmallVector<bool> isConstant;
      for (Value input : group.getInputs())
        isConstant.push_back(bool(input.getDefiningOp<ConstantOp>()));
      auto &[count, keys] = kinds[group.getKind().str()];
      ++count;
      keys.insert(groupKey(group, isConstant));
    });
    for (const auto &[kind, found] : kinds)
      llvm::outs() << kind << ": " << found.first << " groups, " << found.second.size() << " kernels\n";
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace gaudi::transforms
