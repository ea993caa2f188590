//===- GroupKey.cpp - identity of a kernel ---------------------------------===//
#include "lib/Transforms/GroupKey.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace gaudi::transforms {

std::string groupKey(graph::GroupOp group, ArrayRef<bool> isConstant) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::DenseMap<Value, unsigned> numbers; // looked up only, never iterated
  auto number = [&](Value value) { numbers.try_emplace(value, numbers.size()); };
  auto use = [&](Value value) { out << " %" << numbers.lookup(value); };

  out << group.getKind() << '(';
  for (auto [i, argument] : llvm::enumerate(group.getBody().getArguments())) {
    number(argument);
    out << (i < isConstant.size() && isConstant[i] ? "const " : "") << argument.getType() << ',';
  }
  out << ")\n";
  for (Operation &op : group.getBody().front()) {
    out << op.getName();
    llvm::for_each(op.getOperands(), use);
    // The dictionary is sorted by name and holds the properties too.
    out << ' ' << op.getAttrDictionary();
    for (Value result : op.getResults()) {
      number(result);
      out << " : " << result.getType();
    }
    out << '\n';
  }
  return text;
}

} // namespace gaudi::transforms
