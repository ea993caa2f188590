//===- Calls.cpp - local functions and branches ---------------------------===//
#include "lib/Import/Importer.h"

using namespace mlir;

namespace gaudi::import {

std::string functionKey(StringRef domain, StringRef name, StringRef overload) {
  std::string_view canonical = canonicalDomain({domain.data(), domain.size()});
  return (Twine(StringRef(canonical.data(), canonical.size())) + "\1" + name + "\1" + overload).str();
}

uint64_t Importer::nodesWhenInlined(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, int depth) {
  uint64_t count = 0;
  for (const auto &node : nodes) {
    ++count;
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        count += nodesWhenInlined(attribute.g().node(), depth);
    auto callee = functions.find(functionKey(node.domain(), node.op_type(), overloadOf(node)));
    if (callee != functions.end() && depth < kMaxCallDepth) { // deeper ones are refused on their own
      const ::onnx::FunctionProto *function = callee->second;
      if (!inlinedNodes.contains(function)) {
        uint64_t own = nodesWhenInlined(function->node(), depth + 1);
        inlinedNodes[function] = own;
      }
      count += inlinedNodes[function];
    }
    if (count > kMaxNodes)
      return kMaxNodes + 1;
  }
  return count;
}

/// Attributes of the call, and the function's defaults for the others. They are resolved here once, so that a reference
/// inside the body never needs more than one step.
void Importer::bindAttributes(const ::onnx::FunctionProto &function, Node &call, Frame &callee) {
  for (const auto &attribute : model.defaults(function))
    callee.bindings[attribute.name()] = &attribute;
  for (const auto &attribute : call.proto.attribute())
    if (const auto *resolved = call.attribute(attribute.name()))
      callee.bindings[attribute.name()] = resolved;
}

/// Inlines the local function that the node names, if there is one. Such a function hides an operator of ours with the
/// same name (onnx docs/IR.md, "Model local functions").
bool Importer::callFunction(Node &node, Frame &frame) {
  auto found = functions.find(functionKey(node.proto.domain(), node.proto.op_type(), overloadOf(node.proto)));
  if (found == functions.end())
    return false;
  const ::onnx::FunctionProto &function = *found->second;
  if (frame.depth >= kMaxCallDepth) {
    node.overLimit("local functions nest deeper than " + Twine(kMaxCallDepth));
    return true;
  }
  Frame callee;
  callee.depth = frame.depth + 1;
  callee.opsets = function.opset_import_size() ? &function.opset_import() : frame.opsets;
  callee.prefix = frame.prefix + (node.proto.name().empty() ? node.proto.op_type() : node.proto.name()) + "/";
  bindAttributes(function, node, callee);
  if (node.inputCount() > function.input_size()) {
    node.invalid("has " + Twine(node.inputCount()) + " inputs, the function takes " + Twine(function.input_size()));
    return true;
  }
  for (int i = 0; i < function.input_size(); ++i) {
    if (node.has(i))
      callee.values[function.input(i)] = node.input(i);
    else
      callee.omitted.insert(function.input(i));
  }
  importNodes(function.node(), &function, callee);
  for (int i = 0; i < std::min(node.proto.output_size(), function.output_size()); ++i) {
    bool known;
    if (node.wants(i))
      frame.values[node.proto.output(i)] = lookup(callee, function.output(i), known);
  }
  return true;
}

SmallVector<Value> Importer::importBranch(const ::onnx::GraphProto &graph, Frame &around) {
  Frame frame(&around);
  frame.opsets = around.opsets;
  frame.prefix = around.prefix;
  frame.depth = around.depth;
  for (const auto &entry : around.bindings)
    frame.bindings[entry.getKey()] = entry.getValue();
  addInitializers(graph, frame);
  importNodes(graph.node(), &graph, frame);
  SmallVector<Value> results;
  for (const auto &output : graph.output()) {
    bool known;
    results.push_back(lookup(frame, output.name(), known));
  }
  return results;
}

} // namespace gaudi::import
