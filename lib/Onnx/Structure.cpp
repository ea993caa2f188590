//===- Structure.cpp - names, scopes and order of nodes -------------------===//
#include "lib/Onnx/Checks.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace gaudi {

namespace {

using NodeOrders = std::unordered_map<const void *, std::vector<int>>;
using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

/// Who defines a value: a node, or something that exists before all nodes.
constexpr int kOutside = -1;

/// The values of one graph or function body, and of the graphs around it. Views into the protobuf strings.
struct Scope {
  const Scope *parent = nullptr;
  std::unordered_map<std::string_view, int> definedBy;

  const int *find(std::string_view name) const {
    auto it = definedBy.find(name);
    return it == definedBy.end() ? nullptr : &it->second;
  }
  bool visible(std::string_view name) const {
    for (const Scope *scope = this; scope; scope = scope->parent)
      if (scope->find(name))
        return true;
    return false;
  }
};

Status invalid(std::string message) { return Status::error(StatusCode::InvalidInput, std::move(message)); }

class StructureChecker {
public:
  StructureChecker(const ReadOptions &options, NodeOrders &orders) : options(options), orders(orders) {}

  /// `captured` receives the names the graph takes from the scopes around it.
  Status checkGraph(const ::onnx::GraphProto &graph, const Scope *parent, std::vector<std::string_view> &captured);
  Status checkFunction(const ::onnx::FunctionProto &function);

private:
  Status defineInputs(const ::onnx::GraphProto &graph, Scope &scope);
  Status defineOutputs(const Nodes &nodes, Scope &scope);
  Status checkName(const std::string &name);
  /// Values that a node needs, by its inputs and by its subgraphs.
  Status collectUses(const ::onnx::NodeProto &node, int index, const Scope &scope, std::vector<std::string_view> &uses);
  Status orderNodes(const void *owner, const Nodes &nodes, const Scope &scope, std::vector<std::string_view> &captured);

  const ReadOptions &options;
  NodeOrders &orders;
};

Status StructureChecker::checkName(const std::string &name) {
  if (name.size() > options.maxNameBytes)
    return Status::error(StatusCode::ResourceLimit,
                         cat("name ", quoted(name), " has ", name.size(), " bytes, limit ", options.maxNameBytes));
  return {};
}

Status StructureChecker::defineInputs(const ::onnx::GraphProto &graph, Scope &scope) {
  for (const auto &input : graph.input()) {
    GAUDI_TRY(checkName(input.name()));
    if (!scope.definedBy.emplace(input.name(), kOutside).second)
      return invalid(cat("value ", quoted(input.name()), " defined twice (inputs)"));
  }
  // IR version 3 lists initializers among the inputs as well; only a second initializer is a mistake.
  std::unordered_map<std::string_view, int> seen;
  auto define = [&](const std::string &name) -> Status {
    GAUDI_TRY(checkName(name));
    scope.definedBy.emplace(name, kOutside);
    if (!seen.emplace(name, 0).second)
      return invalid(cat("value ", quoted(name), " defined twice (initializers)"));
    return {};
  };
  for (const auto &tensor : graph.initializer())
    GAUDI_TRY(define(tensor.name()));
  for (const auto &tensor : graph.sparse_initializer())
    GAUDI_TRY(define(tensor.values().name()));
  return {};
}

Status StructureChecker::defineOutputs(const Nodes &nodes, Scope &scope) {
  for (int i = 0; i < nodes.size(); ++i) {
    GAUDI_TRY(checkName(nodes[i].name()));
    for (const std::string &name : nodes[i].output()) {
      GAUDI_TRY(checkName(name));
      if (name.empty())
        continue; // optional output not wanted
      auto [it, isNew] = scope.definedBy.emplace(name, i);
      if (!isNew && it->second == kOutside)
        return invalid(cat("value ", quoted(name), " defined twice (an input or initializer, node ", i, ")"));
      if (!isNew)
        return invalid(cat("value ", quoted(name), " defined twice (nodes ", it->second, ", ", i, ")"));
    }
  }
  return {};
}

Status StructureChecker::collectUses(const ::onnx::NodeProto &node, int index, const Scope &scope,
                                     std::vector<std::string_view> &uses) {
  for (const std::string &name : node.input()) {
    if (name.empty())
      continue; // optional input not given
    if (!scope.visible(name))
      return invalid(cat(describeNode(node, index), ": input ", quoted(name), " is not defined"));
    uses.push_back(name);
  }
  for (const auto &attribute : node.attribute()) {
    if (attribute.has_g())
      GAUDI_TRY(checkGraph(attribute.g(), &scope, uses));
    for (const auto &graph : attribute.graphs())
      GAUDI_TRY(checkGraph(graph, &scope, uses));
  }
  return {};
}

/// Names of a cycle among the nodes that could not be ordered: follow unmet needs until a node repeats.
std::string describeCycle(const Nodes &nodes, const std::vector<std::vector<int>> &needs,
                          const std::vector<bool> &done) {
  std::vector<int> path, position(static_cast<size_t>(nodes.size()), -1);
  int at = static_cast<int>(std::find(done.begin(), done.end(), false) - done.begin());
  while (position[at] < 0) {
    position[at] = static_cast<int>(path.size());
    path.push_back(at);
    at = *std::find_if(needs[at].begin(), needs[at].end(), [&](int need) { return !done[need]; });
  }
  auto label = [&](int i) {
    return nodes[i].name().empty() ? cat("#", i, " (", nodes[i].op_type(), ")") : nodes[i].name();
  };
  std::string text = label(at);
  // Data flow runs against the needs: print the producer first.
  for (size_t i = path.size(); i-- > static_cast<size_t>(position[at]);)
    text += " -> " + label(path[i]);
  return text;
}

/// Kahn's algorithm; ready nodes are taken in the order of the file, so that a sorted file keeps its order.
Status StructureChecker::orderNodes(const void *owner, const Nodes &nodes, const Scope &scope,
                                    std::vector<std::string_view> &captured) {
  size_t count = static_cast<size_t>(nodes.size());
  std::vector<std::vector<int>> needs(count), users(count);
  std::vector<int> missing(count, 0);
  for (int i = 0; i < nodes.size(); ++i) {
    std::vector<std::string_view> uses;
    GAUDI_TRY(collectUses(nodes[i], i, scope, uses));
    for (std::string_view name : uses) {
      const int *definer = scope.find(name);
      if (!definer)
        captured.push_back(name);
      else if (*definer != kOutside)
        needs[i].push_back(*definer);
    }
    std::sort(needs[i].begin(), needs[i].end());
    needs[i].erase(std::unique(needs[i].begin(), needs[i].end()), needs[i].end());
    missing[i] = static_cast<int>(needs[i].size());
    for (int need : needs[i])
      users[need].push_back(i);
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (missing[i] == 0)
      ready.push(i);
  std::vector<int> &order = orders[owner];
  std::vector<bool> done(count, false);
  for (; !ready.empty();) {
    int i = ready.top();
    ready.pop();
    done[i] = true;
    order.push_back(i);
    for (int user : users[i])
      if (--missing[user] == 0)
        ready.push(user);
  }
  if (order.size() != count)
    return invalid(cat("graph is cyclic: ", describeCycle(nodes, needs, done)));
  return {};
}

Status StructureChecker::checkGraph(const ::onnx::GraphProto &graph, const Scope *parent,
                                    std::vector<std::string_view> &captured) {
  Scope scope;
  scope.parent = parent;
  GAUDI_TRY(defineInputs(graph, scope));
  GAUDI_TRY(defineOutputs(graph.node(), scope));
  std::vector<std::string_view> inner;
  GAUDI_TRY(orderNodes(&graph, graph.node(), scope, inner));
  for (const auto &output : graph.output()) {
    if (!scope.visible(output.name()))
      return invalid(cat("output ", quoted(output.name()), " is not defined"));
    if (!scope.find(output.name()))
      inner.push_back(output.name());
  }
  std::sort(inner.begin(), inner.end());
  inner.erase(std::unique(inner.begin(), inner.end()), inner.end());
  captured.insert(captured.end(), inner.begin(), inner.end());
  return {};
}

Status StructureChecker::checkFunction(const ::onnx::FunctionProto &function) {
  Scope scope;
  for (const std::string &input : function.input()) {
    GAUDI_TRY(checkName(input));
    if (!scope.definedBy.emplace(input, kOutside).second)
      return invalid(cat("value ", quoted(input), " defined twice (inputs)"));
  }
  GAUDI_TRY(defineOutputs(function.node(), scope));
  std::vector<std::string_view> captured;
  GAUDI_TRY(orderNodes(&function, function.node(), scope, captured));
  for (const std::string &output : function.output())
    if (!scope.find(output))
      return invalid(cat("output ", quoted(output), " is not defined"));
  return {};
}

} // namespace

Status checkStructure(const ::onnx::ModelProto &model, const ReadOptions &options, NodeOrders &nodeOrder) {
  StructureChecker checker(options, nodeOrder);
  for (const auto &function : model.functions())
    GAUDI_TRY(checker.checkFunction(function).annotate(cat("function ", quoted(function.name()))));
  std::vector<std::string_view> captured;
  return checker.checkGraph(model.graph(), nullptr, captured);
}

} // namespace gaudi
