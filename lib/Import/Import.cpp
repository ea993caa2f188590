//===- Import.cpp - ONNX model -> graph module ----------------------------===//
#include "lib/Import/Import.h"

#include "lib/Import/Rules.h"
#include "lib/Import/Shapes.h"
#include "lib/Onnx/Proto.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::import;

namespace {

/// Values by ONNX name; a subgraph sees the names around it.
struct Scope {
  const Scope *outer = nullptr;
  llvm::StringMap<Value> values;

  Value find(StringRef name) const {
    for (const Scope *s = this; s; s = s->outer)
      if (auto it = s->values.find(name); it != s->values.end())
        return it->second;
    return {};
  }
  bool contains(StringRef name) const {
    for (const Scope *s = this; s; s = s->outer)
      if (s->values.contains(name))
        return true;
    return false;
  }
};

class Importer {
public:
  Importer(MLIRContext &context, const OnnxModel &model, const ImportOptions &options)
      : context(context), model(model), options(options), b(&context) {}

  Expected<OwningOpRef<ModuleOp>> run();

private:
  using GraphProto = ::onnx::GraphProto;
  using NodeProto = ::onnx::NodeProto;
  using FunctionProto = ::onnx::FunctionProto;

  Status addInputs(const GraphProto &graph, Scope &scope);
  void addInitializers(const GraphProto &graph, Scope &scope);
  template <typename G> void addNodes(const G &graph, Scope &scope, int depth);
  void addNode(const NodeProto &proto, int index, Scope &scope, int depth);
  void applyRule(Node &node, StringRef domain, const std::string &where);
  bool inlineFunction(const NodeProto &proto, Scope &scope, int depth);
  void inlineIf(Node &node, const NodeProto &proto, Scope &scope, int depth, const std::string &where);
  void define(const NodeProto &proto, Node &node, Scope &scope);
  Status addResults(const GraphProto &graph, Scope &scope, func::FuncOp func);
  Status verdict() const;
  int64_t opsetOfDomain(StringRef domain) const { return opsetOf(model.proto().opset_import(), domain.str()); }

  MLIRContext &context;
  const OnnxModel &model;
  const ImportOptions &options;
  OpBuilder b;
  Block *entry = nullptr;
  std::vector<std::string> unsupported; ///< one line per node
  Status firstInvalid;
};

Location locationOf(MLIRContext &context, const ::onnx::NodeProto &proto, int index, StringRef domain) {
  std::string name = proto.name().empty() ? "#" + std::to_string(index) : proto.name();
  std::string op = domain.empty() ? proto.op_type() : domain.str() + "::" + proto.op_type();
  return FusedLoc::get({NameLoc::get(StringAttr::get(&context, name))}, StringAttr::get(&context, op), &context);
}

std::string typesText(ArrayRef<Value> values) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::interleaveComma(values, out, [&](Value v) {
    if (v)
      out << v.getType();
    else
      out << "-";
  });
  return text;
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

Status Importer::addInputs(const GraphProto &graph, Scope &scope) {
  llvm::StringSet<> constants;
  for (const auto &tensor : graph.initializer())
    constants.insert(tensor.name());
  std::vector<InputInfo> inputs;
  for (const auto &info : graph.input()) {
    if (constants.contains(info.name())) // IR 3 lists initializers among the inputs
      continue;
    Expected<InputInfo> input = describeInput(context, info);
    if (!input.ok())
      return input.takeStatus();
    inputs.push_back(input.take());
  }
  GAUDI_TRY(applyShapes(inputs, options));
  for (InputInfo &input : inputs) {
    Location loc = NameLoc::get(b.getStringAttr(input.name));
    scope.values[input.name] = entry->addArgument(RankedTensorType::get(input.dims, input.element), loc);
  }
  auto func = cast<func::FuncOp>(entry->getParentOp());
  func.setType(b.getFunctionType(entry->getArgumentTypes(), {}));
  for (auto [i, input] : llvm::enumerate(inputs)) {
    func.setArgAttr(i, "graph.name", b.getStringAttr(input.name));
    SmallVector<StringRef> symbols(input.symbols.begin(), input.symbols.end());
    func.setArgAttr(i, "graph.dims", b.getStrArrayAttr(symbols));
  }
  return {};
}

void Importer::addInitializers(const GraphProto &graph, Scope &scope) {
  static const NodeProto none;
  for (const auto &tensor : graph.initializer()) {
    Node node(b, NameLoc::get(b.getStringAttr(tensor.name())), model, none, 0);
    Value value = node.constantTensor(tensor);
    if (!value)
      unsupported.push_back("initializer '" + tensor.name() + "': " + node.reason);
    scope.values[tensor.name()] = value;
  }
}

Status Importer::addResults(const GraphProto &graph, Scope &scope, func::FuncOp func) {
  SmallVector<Value> results;
  SmallVector<std::string> names;
  for (const auto &info : graph.output()) {
    Value value = scope.find(info.name());
    if (!value)
      return Status::error(StatusCode::InvalidInput, "output '" + info.name() + "' is not defined");
    results.push_back(value);
    names.push_back(info.name());
  }
  func::ReturnOp::create(b, func.getLoc(), results);
  func.setType(b.getFunctionType(entry->getArgumentTypes(), ValueRange(results).getTypes()));
  for (auto [i, name] : llvm::enumerate(names))
    func.setResultAttr(i, "graph.name", b.getStringAttr(name));
  return {};
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

template <typename G> void Importer::addNodes(const G &graph, Scope &scope, int depth) {
  for (int i : model.nodeOrder(&graph))
    addNode(graph.node(i), i, scope, depth);
}

void Importer::define(const NodeProto &proto, Node &node, Scope &scope) {
  for (int i = 0; i < proto.output_size(); ++i)
    if (!proto.output(i).empty()) {
      Value value = static_cast<size_t>(i) < node.outputs.size() ? node.outputs[i] : Value();
      scope.values[proto.output(i)] = value; // null: poisoned, its users are skipped
    }
}

void Importer::addNode(const NodeProto &proto, int index, Scope &scope, int depth) {
  std::string domain(canonicalDomain(proto.domain()));
  Node node(b, locationOf(context, proto, index, domain), model, proto, opsetOfDomain(domain));
  bool poisoned = false;
  for (const std::string &name : proto.input()) {
    Value value = name.empty() ? Value() : scope.find(name);
    poisoned |= !name.empty() && !value;
    node.inputs.push_back(value);
  }
  std::string where = describeNode(proto, index);
  if (poisoned) // the node that failed is reported, not those behind it
    return define(proto, node, scope);
  if (inlineFunction(proto, scope, depth))
    return;
  if (domain.empty() && proto.op_type() == "If")
    inlineIf(node, proto, scope, depth, where);
  else
    applyRule(node, domain, where);
  define(proto, node, scope);
}

void Importer::applyRule(Node &node, StringRef domain, const std::string &where) {
  std::string op = domain.empty() ? node.proto.op_type() : domain.str() + "::" + node.proto.op_type();
  bool known = false;
  Rule rule = findRule(domain, node.proto.op_type(), node.opset, known);
  std::string diagnostic;
  if (rule) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
      if (diagnostic.empty())
        diagnostic = d.str();
      return success();
    });
    rule(node);
    bool incomplete = false;
    for (size_t i = 0; i < node.outputCount(); ++i)
      incomplete |= node.wantsOutput(i) && (i >= node.outputs.size() || !node.outputs[i]);
    if (!node.failed() && !incomplete)
      return;
    if (!node.failed())
      node.reason = diagnostic.empty() ? "an output is not produced" : diagnostic;
  } else {
    node.unsupported(known ? "opset " + Twine(node.opset) : Twine("op " + op + " not supported"));
  }
  node.outputs.clear();
  std::string origin = where + " (" + op + ", opset " + std::to_string(node.opset) + ")";
  if (node.isUnsupported)
    unsupported.push_back(origin + ": " + node.reason + "; inputs: " + typesText(node.inputs));
  else if (firstInvalid.ok())
    firstInvalid = Status::error(StatusCode::InvalidInput, origin + ": " + node.reason,
                                 "check the model with onnx.checker, or export it again");
}

bool Importer::inlineFunction(const NodeProto &proto, Scope &scope, int depth) {
  constexpr int deepest = 64; // the reader has refused recursion; this bounds the blow-up
  for (const FunctionProto &function : model.proto().functions()) {
    if (function.name() != proto.op_type() || canonicalDomain(function.domain()) != canonicalDomain(proto.domain()))
      continue;
    if (depth > deepest) {
      unsupported.push_back("function '" + function.name() + "' is nested deeper than " + std::to_string(deepest));
      return false;
    }
    if (function.attribute_size()) {
      unsupported.push_back("function '" + function.name() + "' has attributes");
      return false;
    }
    Scope inner;
    for (int i = 0; i < function.input_size(); ++i)
      inner.values[function.input(i)] = i < proto.input_size() ? scope.find(proto.input(i)) : Value();
    addNodes(function, inner, depth + 1);
    for (int i = 0; i < proto.output_size() && i < function.output_size(); ++i)
      scope.values[proto.output(i)] = inner.find(function.output(i));
    return true;
  }
  return false;
}

void Importer::inlineIf(Node &node, const NodeProto &proto, Scope &scope, int depth, const std::string &where) {
  std::optional<double> condition = node.constantNumber(0);
  if (!condition) {
    unsupported.push_back(where + " (If): condition is not constant");
    return;
  }
  const ::onnx::AttributeProto *branch = node.attr(*condition != 0 ? "then_branch" : "else_branch");
  if (!branch)
    return;
  Scope inner;
  inner.outer = &scope;
  addInitializers(branch->g(), inner);
  addNodes(branch->g(), inner, depth + 1);
  for (int i = 0; i < branch->g().output_size(); ++i)
    node.out(i, inner.find(branch->g().output(i).name()));
}

//===----------------------------------------------------------------------===//
// Whole model
//===----------------------------------------------------------------------===//

Status Importer::verdict() const {
  if (!unsupported.empty()) {
    std::string message = unsupported.front();
    constexpr size_t most = 200;
    for (size_t i = 1; i < std::min(unsupported.size(), most); ++i)
      message += "\n  " + unsupported[i];
    if (unsupported.size() > 1)
      message += "\n" + std::to_string(unsupported.size()) + " unsupported nodes in all";
    return Status::error(StatusCode::Unsupported, message, "docs/onnx-support.md lists what is supported");
  }
  if (!firstInvalid.ok())
    return Status::error(firstInvalid.code(), firstInvalid.message(), firstInvalid.hint());
  return {};
}

Expected<OwningOpRef<ModuleOp>> Importer::run() {
  const GraphProto &graph = model.proto().graph();
  Location loc = NameLoc::get(b.getStringAttr(model.path()));
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  SmallVector<StringRef> files;
  for (size_t i = 0; i < model.weights().fileCount(); ++i)
    files.push_back(model.weights().path(i));
  (*module)->setAttr("graph.files", b.getStrArrayAttr(files));
  (*module)->setAttr("graph.model", b.getStringAttr(model.path()));
  b.setInsertionPointToStart(module->getBody());
  auto func = func::FuncOp::create(b, loc, "main", b.getFunctionType({}, {}));
  entry = &func.getBody().emplaceBlock();
  b.setInsertionPointToStart(entry);
  Scope scope;
  GAUDI_TRY(addInputs(graph, scope));
  addInitializers(graph, scope);
  addNodes(graph, scope, 0);
  GAUDI_TRY(verdict());
  GAUDI_TRY(addResults(graph, scope, func));
  return module;
}

} // namespace

void gaudi::loadImportDialects(MLIRContext &context) {
  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
}

Expected<OwningOpRef<ModuleOp>> gaudi::importModel(MLIRContext &context, const OnnxModel &model, const ImportOptions &options) {
  return Importer(context, model, options).run();
}

ArrayRef<char> ModelWeights::bytes(uint32_t file, uint64_t offset, uint64_t length, Location loc) {
  std::span<const std::byte> bytes = store.bytes(file, offset, length);
  if (bytes.empty() && length)
    emitError(loc, "weight is outside of its file");
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}
