//===- GroupKeyTest.cpp - equal groups share a key --------------------------===//
#include "lib/Transforms/GroupKey.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace gaudi;

namespace {

SmallVector<std::string> keysOf(StringRef text, ArrayRef<bool> isConstant = {}) {
  MLIRContext context;
  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  SmallVector<std::string> keys;
  if (module)
    module->walk([&](graph::GroupOp group) { keys.push_back(transforms::groupKey(group, isConstant)); });
  return keys;
}

/// Two groups of one unary op each; `second` is the kind of the second one.
std::string twoGroups(StringRef second, StringRef type = "tensor<3xf32>") {
  std::string text = "func.func @f(%x: tensor<3xf32>, %y: TYPE) {\n";
  for (auto [argument, kind, own] :
       {std::tuple("%x", StringRef("exp"), StringRef("tensor<3xf32>")), std::tuple("%y", second, type)})
    text += ("graph.group \"pointwise\"(" + Twine(argument) + ") : (" + own + ") -> " + own + " {\n^bb0(%a: " + own +
             "):\n  %r = graph.unary " + kind + " %a : " + own + " -> " + own + " loc(\"node" + argument +
             "\")\n  graph.yield %r : " + own + "\n}\n")
                .str();
  text += "return\n}\n";
  text.replace(text.find("TYPE"), 4, type.str());
  return text;
}

TEST(GroupKeyTest, LocationsAndOperandsDoNotMatter) {
  auto keys = keysOf(twoGroups("exp"));
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0], keys[1]);
}

TEST(GroupKeyTest, BodyAndTypesMatter) {
  auto body = keysOf(twoGroups("log")), types = keysOf(twoGroups("exp", "tensor<5xf32>"));
  ASSERT_EQ(body.size(), 2u);
  ASSERT_EQ(types.size(), 2u);
  EXPECT_NE(body[0], body[1]);
  EXPECT_NE(types[0], types[1]);
}

TEST(GroupKeyTest, ConstantOperandsMatter) {
  auto run = keysOf(twoGroups("exp"), {false}), constant = keysOf(twoGroups("exp"), {true});
  ASSERT_EQ(run.size(), 2u);
  ASSERT_EQ(constant.size(), 2u);
  EXPECT_NE(run[0], constant[0]);
}

} // namespace
