//===- Import.cpp - ONNX model -> graph module ----------------------------===//
#include "lib/Import/Importer.h"
#include "lib/Import/Rules.h"
#include "runtime/base/Text.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace gaudi::import {

Importer::Importer(MLIRContext &context, const OnnxModel &model, const ImportOptions &options)
    : context(context), model(model), options(options), builder(&context) {
  for (const auto &function : model.proto().functions())
    functions[functionKey(function.domain(), function.name(), overloadOf(function))] = &function;
}

void Importer::fail(StatusCode code, std::string message, std::string hint) {
  if (error.ok())
    error = Status::error(code, std::move(message), std::move(hint));
}

std::string Importer::takeDiagnostic() { return std::exchange(diagnostic, {}); }

static std::string operatorName(const ::onnx::NodeProto &proto) {
  std::string domain(canonicalDomain(proto.domain()));
  return domain.empty() ? proto.op_type() : domain + "::" + proto.op_type();
}

void Importer::addUnsupported(const Node &node, const std::string &reason, bool unknownOp) {
  std::string name = node.proto.name().empty() ? "" : node.frame.prefix + node.proto.name();
  std::string types;
  for (const std::string &input : node.proto.input()) {
    bool known;
    Value value = input.empty() ? Value() : lookup(node.frame, input, known);
    types += (types.empty() ? "" : ", ") + (input.empty() ? "-" : value ? typeText(value.getType()) : "?");
  }
  std::string op = operatorName(node.proto);
  std::string first = unknownOp ? cat("node ", quoted(name.empty() ? op : name), ": op ", op, " not supported")
                                : cat(node.describe(), ": ", reason);
  unsupportedNodes.push_back({name, op, first, cat(node.describe(), ": ", reason, "; inputs: ", types), unknownOp});
}

/// The first node in the first line with the kinds of all others, then one line per node (runtime.md 6.3 row 7).
Status Importer::unsupportedStatus() const {
  constexpr size_t maxLines = 200;
  std::string text = unsupportedNodes.front().message;
  if (unsupportedNodes.size() > 1) {
    SmallVector<std::string> ops;
    for (const auto &other : ArrayRef(unsupportedNodes).drop_front())
      if (!llvm::is_contained(ops, other.op))
        ops.push_back(other.op);
    text += cat("; ", unsupportedNodes.size() - 1, " other unsupported ops: ", llvm::join(ops, ", "));
  }
  for (const auto &node : ArrayRef(unsupportedNodes).take_front(maxLines))
    text += "\n  " + node.detail;
  if (unsupportedNodes.size() > maxLines)
    text += cat("\n  ... and ", unsupportedNodes.size() - maxLines, " more");
  return Status::error(StatusCode::Unsupported, text,
                       "gaudi-opt --supported lists what can be compiled (docs/onnx-support.md)");
}

Location Importer::locationOf(const ::onnx::NodeProto &proto, int index, const Frame &frame) {
  // Unnamed nodes are known by their first result: it is what a graph viewer shows.
  std::string name = frame.prefix + (!proto.name().empty()      ? proto.name()
                                     : proto.output_size() != 0 ? proto.output(0)
                                                                : cat("#", index));
  Location named = NameLoc::get(builder.getStringAttr(name));
  return FusedLoc::get(&context, {named}, builder.getStringAttr(operatorName(proto)));
}

bool Importer::hasPoisonedInput(const ::onnx::NodeProto &proto, Frame &frame) {
  for (const std::string &name : proto.input()) {
    bool known = true;
    if (!name.empty() && !frame.isOmitted(name) && !lookup(frame, name, known))
      return true;
  }
  return false;
}

void Importer::poisonOutputs(const ::onnx::NodeProto &proto, Frame &frame) {
  for (const std::string &name : proto.output())
    if (!name.empty())
      frame.values.try_emplace(name, Value());
}

void Importer::importNodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, const void *owner,
                           Frame &frame) {
  for (int index : model.nodeOrder(owner)) {
    if (!error.ok())
      return;
    importNode(nodes[index], index, frame);
    poisonOutputs(nodes[index], frame); // those that no rule has set
  }
}

void Importer::importNode(const ::onnx::NodeProto &proto, int index, Frame &frame) {
  std::string_view domain = canonicalDomain(proto.domain());
  int64_t opset = opsetOf(*frame.opsets, domain);
  Node node(*this, frame, proto, index, opset, locationOf(proto, index, frame));
  if (functions.contains(functionKey(proto.domain(), proto.op_type(), overloadOf(proto)))) {
    if (!hasPoisonedInput(proto, frame))
      callFunction(node, frame);
    return;
  }
  if (domain.empty() && opset == 0)
    return fail(StatusCode::InvalidInput, cat(node.describe(), ": model declares no opset of ai.onnx"));
  // Contributed operators are versioned by the runtime, not by the domain: files may forget to import it.
  int64_t earliest = 0;
  StringRef op = proto.op_type();
  node.rule = findRule({domain.data(), domain.size()}, op, std::max<int64_t>(opset, 1), &earliest);
  if (!node.rule) {
    std::string near = earliest || !domain.empty() ? "" : nearestOperator(op);
    std::string reason = earliest       ? cat("needs opset ", earliest, " or later")
                         : near.empty() ? std::string("no such operator in this version")
                                        : cat("no such operator; did you mean ", near, "?");
    return addUnsupported(node, reason, /*unknownOp=*/true);
  }
  if (hasPoisonedInput(proto, frame))
    return; // its own reason is unknown until the producer is supported
  diagnostic.clear();
  node.rule->translate(node);
  if (!node.failed() && !diagnostic.empty())
    node.invalid(takeDiagnostic());
}

void Importer::addInitializers(const ::onnx::GraphProto &graph, Frame &frame) {
  auto refuse = [&](StringRef name, StringRef type) {
    unsupportedNodes.push_back({name.str(), "initializer",
                                cat(quoted(name.str()), ": type ", type.str(), " unsupported"),
                                cat("initializer ", quoted(name.str()), ": type ", type.str()), false});
    frame.values[name] = Value();
  };
  for (const auto &tensor : graph.initializer()) {
    const TensorLiteral &literal = model.literal(tensor);
    if (literal.unsupportedType.empty())
      frame.initializers[tensor.name()] = &tensor;
    else
      refuse(tensor.name(), literal.unsupportedType);
  }
  for (const auto &sparse : graph.sparse_initializer())
    refuse(sparse.values().name(), "sparse_tensor");
}

/// What a TypeProto is when it is not a tensor of ours.
static std::string foreignType(const ::onnx::TypeProto &type, DType &dtype) {
  std::string name;
  switch (type.value_case()) {
  case ::onnx::TypeProto::kTensorType:
    dtypeFromOnnx(type.tensor_type().elem_type(), dtype, name);
    return name;
  case ::onnx::TypeProto::kSequenceType:
    return "sequence";
  case ::onnx::TypeProto::kMapType:
    return "map";
  case ::onnx::TypeProto::kOptionalType:
    return "optional";
  case ::onnx::TypeProto::kSparseTensorType:
    return "sparse_tensor";
  default:
    return "unknown";
  }
}

static std::string dimsText(ArrayRef<int64_t> dims) {
  std::string text = "[";
  for (auto [i, d] : llvm::enumerate(dims))
    text += (i ? "," : "") + (ShapedType::isDynamic(d) ? std::string("?") : std::to_string(d));
  return text + "]";
}

std::optional<Type> Importer::inputType(const ::onnx::ValueInfoProto &info, ArrayAttr &symbols) {
  std::string where = cat("input ", quoted(info.name()));
  DType dtype = DType::F32;
  if (std::string foreign = foreignType(info.type(), dtype); !foreign.empty()) {
    fail(StatusCode::Unsupported, cat(where, ": type ", foreign, " unsupported"));
    return std::nullopt;
  }
  SmallVector<int64_t> dims;
  SmallVector<Attribute> names;
  for (const auto &dim : info.type().tensor_type().shape().dim()) {
    bool isStatic = dim.has_dim_value() && dim.dim_value() >= 0; // some exporters write -1 for unknown
    dims.push_back(isStatic ? dim.dim_value() : ShapedType::kDynamic);
    names.push_back(builder.getStringAttr(dim.has_dim_param() ? dim.dim_param() : ""));
    for (const auto &[name, size] : options.dims)
      if (dim.has_dim_param() && dim.dim_param() == name)
        dims.back() = size;
  }
  bool hasShape = info.type().tensor_type().has_shape();
  for (const auto &[name, shape] : options.shapes) {
    if (name != info.name())
      continue;
    bool fits = !hasShape || shape.size() == dims.size();
    for (size_t i = 0; hasShape && fits && i < dims.size(); ++i)
      fits = ShapedType::isDynamic(dims[i]) || dims[i] == shape[i];
    if (!fits) {
      fail(StatusCode::Usage, cat("--shape ", info.name(), ": does not fit the model (found ", dimsText(shape),
                                  ", expected ", dimsText(dims), ")"));
      return std::nullopt;
    }
    dims.assign(shape.begin(), shape.end());
    names.resize(dims.size(), builder.getStringAttr(""));
    hasShape = true;
  }
  if (!hasShape) {
    fail(StatusCode::Usage, cat(where, ": the model does not say its rank"), cat("add --shape ", info.name(), "=..."));
    return std::nullopt;
  }
  symbols = builder.getArrayAttr(names);
  auto type = RankedTensorType::get(dims, elementTypeOf(&context, dtype));
  if (std::string what = overLimit(info.name(), type); !what.empty()) {
    fail(StatusCode::ResourceLimit, cat("input ", what));
    return std::nullopt;
  }
  return type;
}

bool Importer::addArguments(func::FuncOp main, Frame &frame) {
  SmallVector<Type> types;
  SmallVector<Attribute> attrs;
  SmallVector<StringRef> names;
  for (const auto &info : model.proto().graph().input()) {
    if (frame.initializers.contains(info.name()) || frame.values.contains(info.name()))
      continue; // IR version 3: an initializer with a default value that we do not let override
    ArrayAttr symbols;
    auto type = inputType(info, symbols);
    if (!type)
      return false;
    types.push_back(*type);
    names.push_back(info.name());
    attrs.push_back(
        builder.getDictionaryAttr({builder.getNamedAttr("graph.dims", symbols),
                                   builder.getNamedAttr("graph.name", builder.getStringAttr(info.name()))}));
  }
  main.setType(builder.getFunctionType(types, {}));
  Block *body = main.addEntryBlock();
  main.setAllArgAttrs(attrs);
  for (auto [name, argument] : llvm::zip(names, body->getArguments())) {
    argument.setLoc(NameLoc::get(builder.getStringAttr(name)));
    frame.values[name] = argument;
  }
  builder.setInsertionPointToEnd(body);
  return true;
}

void Importer::addResults(func::FuncOp main, Frame &frame) {
  SmallVector<Value> values;
  SmallVector<Attribute> attrs;
  for (const auto &info : model.proto().graph().output()) {
    bool known;
    Value value = lookup(frame, info.name(), known);
    if (!value && unsupportedNodes.empty()) // an optional result that the rule does not give
      return fail(StatusCode::Unsupported,
                  cat("output ", quoted(info.name()), ": depends on a result of a node that is not supported"));
    if (!value)
      return; // unsupported nodes are reported instead
    values.push_back(value);
    attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr("graph.name", builder.getStringAttr(info.name()))));
  }
  func::ReturnOp::create(builder, builder.getUnknownLoc(), values);
  main.setType(builder.getFunctionType(main.getArgumentTypes(), ValueRange(values).getTypes()));
  main.setAllResultAttrs(attrs);
}

static void setModuleAttributes(ModuleOp module, const OnnxModel &model) {
  Builder b(module.getContext());
  SmallVector<StringRef> files;
  for (size_t i = 0; i < model.weights().fileCount(); ++i)
    files.push_back(model.weights().path(static_cast<uint32_t>(i)));
  module->setAttr("graph.files", b.getStrArrayAttr(files));
  module->setAttr("graph.model", b.getStringAttr(model.path()));
}

/// Text of a diagnostic, without MLIR's quotes around types and without the op name that the user did not write
/// ("'graph.reshape' op ").
static std::string plainText(Diagnostic &diag) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (DiagnosticArgument &argument : diag.getArguments()) {
    if (argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::Type)
      os << argument.getAsType();
    else
      argument.print(os);
  }
  StringRef rest = text;
  if (rest.consume_front("'graph.") && rest.contains("' op "))
    rest = rest.split("' op ").second;
  else
    rest = text;
  return rest.str();
}

Expected<OwningOpRef<ModuleOp>> Importer::run() {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
    if (diag.getSeverity() == DiagnosticSeverity::Error && diagnostic.empty())
      diagnostic = plainText(diag);
    return success();
  });
  GAUDI_TRY(checkOptions(model.proto().graph(), options));
  if (nodesWhenInlined(model.proto().graph().node(), 0) > kMaxNodes)
    return Status::error(StatusCode::ResourceLimit,
                         cat("more than ", kMaxNodes, " nodes after inlining of local functions"));
  Location loc = NameLoc::get(builder.getStringAttr(model.path()));
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  setModuleAttributes(*module, model);
  builder.setInsertionPointToEnd(module->getBody());
  auto main = func::FuncOp::create(builder, loc, "main", builder.getFunctionType({}, {}));

  top.opsets = &model.proto().opset_import();
  addInitializers(model.proto().graph(), top);
  if (addArguments(main, top)) {
    importNodes(model.proto().graph().node(), &model.proto().graph(), top);
    if (error.ok())
      addResults(main, top);
  }
  if (!error.ok())
    return std::move(error);
  if (!unsupportedNodes.empty())
    return unsupportedStatus();
  diagnostic.clear();
  if (failed(verify(*module)))
    return Status::error(StatusCode::Internal, cat("import made an invalid module: ", diagnostic),
                         "please report this");
  return module;
}

} // namespace gaudi::import

namespace gaudi {

void loadImportDialects(MLIRContext &context) { context.loadDialect<func::FuncDialect, graph::GraphDialect>(); }

Expected<OwningOpRef<ModuleOp>> importModel(MLIRContext &context, const OnnxModel &model,
                                            const ImportOptions &options) {
  loadImportDialects(context);
  return import::Importer(context, model, options).run();
}

} // namespace gaudi
