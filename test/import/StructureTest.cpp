//===- StructureTest.cpp - names, order, functions, opsets ----------------===//
#include "test/import/ModelBuilder.h"

using namespace gaudi;
using namespace gaudi::test;

TEST(Structure, OrdersNodesByNeed) {
  auto model = emptyModel();
  addTensor(model, "x", {1})->add_float_data(1);
  auto &graph = *model.mutable_graph();
  addNode(graph, "c", "Relu", {"b"}, {"y"});
  addNode(graph, "a", "Relu", {"x"}, {"a"});
  addNode(graph, "b", "Relu", {"a"}, {"b"});
  auto parsed = parse(model);
  ASSERT_EQ(errorOf(parsed), "ok");
  EXPECT_EQ(parsed.model->nodeOrder(&parsed.model->proto().graph()), (std::vector<int>{1, 2, 0}));
}

/// A branch's use of an outer value orders the node that holds the branch.
TEST(Structure, SubgraphUsesCount) {
  auto model = emptyModel();
  addTensor(model, "x", {1})->add_float_data(1);
  auto &graph = *model.mutable_graph();
  auto *branch = addNode(graph, "if", "If", {"x"}, {"y"})->add_attribute();
  branch->set_name("then_branch");
  addNode(*branch->mutable_g(), "inner", "Relu", {"late"}, {"z"});
  addNode(graph, "late", "Relu", {"x"}, {"late"});
  auto parsed = parse(model);
  ASSERT_EQ(errorOf(parsed), "ok");
  EXPECT_EQ(parsed.model->nodeOrder(&parsed.model->proto().graph()), (std::vector<int>{1, 0}));
}

TEST(Structure, Cycle) {
  auto model = emptyModel();
  addNode(*model.mutable_graph(), "a", "Relu", {"y"}, {"x"});
  addNode(*model.mutable_graph(), "b", "Relu", {"x"}, {"y"});
  EXPECT_EQ(errorOf(parse(model)), "graph is cyclic: a -> b -> a");
}

TEST(Structure, UndefinedAndDuplicateValues) {
  auto undefined = emptyModel();
  addNode(*undefined.mutable_graph(), "add", "Add", {"q", "q"}, {"y"});
  EXPECT_EQ(errorOf(parse(undefined)), "node 'add': input 'q' is not defined");

  auto twice = emptyModel();
  for (int i = 0; i < 10; ++i)
    addNode(*twice.mutable_graph(), "n", "Constant", {}, {i == 3 || i == 9 ? "x" : std::to_string(i).c_str()});
  EXPECT_EQ(errorOf(parse(twice)), "value 'x' defined twice (nodes 3, 9)");

  auto output = emptyModel();
  output.mutable_graph()->add_output()->set_name("nowhere");
  EXPECT_EQ(errorOf(parse(output)), "output 'nowhere' is not defined");
}

/// Names come from untrusted files and go to terminals.
TEST(Structure, EscapesControlCharacters) {
  auto model = emptyModel();
  addNode(*model.mutable_graph(), "\x1b[2J", "Relu", {"q"}, {"y"});
  EXPECT_EQ(errorOf(parse(model)), "node '\\x1b[2J': input 'q' is not defined");
}

TEST(Structure, LongNames) {
  auto model = emptyModel();
  addNode(*model.mutable_graph(), std::string(5000, 'n').c_str(), "Relu", {}, {"y"});
  EXPECT_NE(errorOf(parse(model)).find("has 5000 bytes, limit 4096"), std::string::npos);
}

TEST(Structure, FunctionCycle) {
  auto model = emptyModel();
  for (auto [name, callee] : {std::pair("f", "g"), std::pair("g", "f"), std::pair("h", "f")}) {
    auto *function = model.add_functions();
    function->set_name(name);
    function->set_domain("d");
    auto *node = function->add_node();
    node->set_op_type(callee);
    node->set_domain("d");
  }
  EXPECT_EQ(errorOf(parse(model)), "function cycle: f -> g -> f");
}

TEST(Structure, Opsets) {
  auto model = emptyModel();
  model.mutable_opset_import(0)->set_version(99);
  EXPECT_EQ(errorOf(parse(model)), "ai.onnx opset 99 unsupported (7-25)");
  EXPECT_EQ(parse(model).model.status().code(), StatusCode::Unsupported);
  model.clear_opset_import();
  EXPECT_EQ(errorOf(parse(model)), "model declares no opset");
}

/// FunctionProto.attribute_proto is newer than the installed onnx.proto.
TEST(Structure, FunctionDefaults) {
  auto model = emptyModel();
  auto *function = model.add_functions();
  function->set_name("f");
  ::onnx::AttributeProto attribute;
  attribute.set_name("alpha");
  attribute.set_f(0.5f);
  function->mutable_unknown_fields()->AddLengthDelimited(11, attribute.SerializeAsString());
  auto parsed = parse(model);
  ASSERT_EQ(errorOf(parsed), "ok");
  const auto &defaults = parsed.model->defaults(parsed.model->proto().functions(0));
  ASSERT_EQ(defaults.size(), 1u);
  EXPECT_EQ(defaults[0].name(), "alpha");
}
