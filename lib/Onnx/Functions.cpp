//===- Functions.cpp - local functions, and the tensors of a model --------===//
#include "lib/Onnx/Checks.h"
#include "runtime/base/Text.h"

namespace gaudi {

namespace {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

/// Functions are identified by domain, name and overload (onnx.proto, FunctionProto).
std::string functionKey(std::string_view domain, std::string_view name, std::string_view overload) {
  return cat(canonicalDomain(domain), "\1", name, "\1", overload);
}

/// Calls `visit` for every node, also those in subgraphs. The scanner has limited the nesting.
template <typename Visit> void forEachNode(const Nodes &nodes, Visit visit) {
  for (const auto &node : nodes) {
    visit(node);
    for (const auto &attribute : node.attribute()) {
      if (attribute.has_g())
        forEachNode(attribute.g().node(), visit);
      for (const auto &graph : attribute.graphs())
        forEachNode(graph.node(), visit);
    }
  }
}

/// Depth-first search without recursion: files may hold chains of any length.
class CycleFinder {
public:
  explicit CycleFinder(std::vector<std::vector<int>> callees) : callees(std::move(callees)) {}

  /// The functions of a cycle, first one repeated at the end; empty if there is none.
  std::vector<int> find() {
    state.assign(callees.size(), White);
    for (int root = 0; root < static_cast<int>(callees.size()); ++root)
      if (state[root] == White && visit(root))
        return cycle;
    return {};
  }

private:
  enum Color : char { White, Grey, Black };
  struct Frame {
    int function;
    size_t next = 0;
  };

  bool visit(int root) {
    std::vector<Frame> stack{{root}};
    state[root] = Grey;
    while (!stack.empty()) {
      Frame &top = stack.back();
      if (top.next == callees[top.function].size()) {
        state[top.function] = Black;
        stack.pop_back();
        continue;
      }
      int callee = callees[top.function][top.next++];
      if (state[callee] == Grey) {
        for (const Frame &frame : stack)
          if (frame.function == callee || !cycle.empty())
            cycle.push_back(frame.function);
        cycle.push_back(callee);
        return true;
      }
      if (state[callee] == White) {
        state[callee] = Grey;
        stack.push_back({callee});
      }
    }
    return false;
  }

  std::vector<std::vector<int>> callees;
  std::vector<Color> state;
  std::vector<int> cycle;
};

} // namespace

Status checkFunctions(const ::onnx::ModelProto &model) {
  std::unordered_map<std::string, int> index;
  for (int i = 0; i < model.functions_size(); ++i) {
    const auto &function = model.functions(i);
    if (!index.emplace(functionKey(function.domain(), function.name(), overloadOf(function)), i).second)
      return Status::error(StatusCode::InvalidInput, cat("function ", quoted(function.name()), " defined twice"));
  }
  std::vector<std::vector<int>> callees(static_cast<size_t>(model.functions_size()));
  for (int i = 0; i < model.functions_size(); ++i)
    forEachNode(model.functions(i).node(), [&](const ::onnx::NodeProto &node) {
      auto callee = index.find(functionKey(node.domain(), node.op_type(), overloadOf(node)));
      if (callee != index.end())
        callees[static_cast<size_t>(i)].push_back(callee->second);
    });
  std::vector<std::string> names;
  for (int i : CycleFinder(std::move(callees)).find())
    names.push_back(model.functions(i).name());
  if (!names.empty())
    return Status::error(StatusCode::InvalidInput, cat("function cycle: ", join(names, " -> ")));
  return {};
}

namespace {

class TensorCollector {
public:
  void addGraph(const ::onnx::GraphProto &graph) {
    for (const auto &tensor : graph.initializer())
      found.push_back({&tensor, quoted(tensor.name())});
    addNodes(graph.node());
  }

  void addNodes(const Nodes &nodes) {
    for (int i = 0; i < nodes.size(); ++i)
      for (const auto &attribute : nodes[i].attribute())
        addAttribute(attribute, describeNode(nodes[i], i));
  }

  void addAttribute(const ::onnx::AttributeProto &attribute, const std::string &owner) {
    std::string where = cat(owner, ", attribute ", quoted(attribute.name()));
    if (attribute.has_t())
      found.push_back({&attribute.t(), where});
    for (const auto &tensor : attribute.tensors())
      found.push_back({&tensor, where});
    if (attribute.has_g())
      addGraph(attribute.g());
    for (const auto &graph : attribute.graphs())
      addGraph(graph);
  }

  std::vector<NamedTensor> found;
};

} // namespace

std::vector<NamedTensor> collectTensors(const ::onnx::ModelProto &model, const FunctionDefaults &defaults) {
  TensorCollector collector;
  collector.addGraph(model.graph());
  for (const auto &function : model.functions()) {
    collector.addNodes(function.node());
    if (auto it = defaults.find(&function); it != defaults.end())
      for (const auto &attribute : it->second)
        collector.addAttribute(attribute, cat("function ", quoted(function.name())));
  }
  return std::move(collector.found);
}

/// FunctionProto.attribute_proto = 11 came with IR version 9; the installed onnx.proto keeps it as an unknown field.
Status parseFunctionDefaults(const ::onnx::ModelProto &model, FunctionDefaults &defaults) {
  constexpr int attributeProto = 11;
  for (const auto &function : model.functions()) {
    const auto &unknown = function.unknown_fields();
    for (int i = 0; i < unknown.field_count(); ++i) {
      if (unknown.field(i).number() != attributeProto ||
          unknown.field(i).type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
        continue;
      // A deque does not move what it holds: literals are keyed by the address of their TensorProto.
      if (!defaults[&function].emplace_back().ParseFromString(unknown.field(i).length_delimited()))
        return Status::error(StatusCode::InvalidInput,
                             cat("function ", quoted(function.name()), ": malformed default attribute"));
    }
  }
  return {};
}

} // namespace gaudi
