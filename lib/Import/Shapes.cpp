//===- Shapes.cpp - input shapes from the model and from flags ------------===//
#include "lib/Import/Shapes.h"

#include "lib/Import/Rules.h"
#include "lib/Onnx/Proto.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringRef.h"

#include <charconv>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::import;

Expected<InputInfo> import::describeInput(MLIRContext &context, const ::onnx::ValueInfoProto &info) {
  InputInfo input;
  input.name = info.name();
  if (!info.type().has_tensor_type())
    return Status::error(StatusCode::Unsupported, "input " + quoted(info.name()) + ": only tensors are supported",
                         "sequences, optionals and maps have no counterpart here");
  const auto &tensor = info.type().tensor_type();
  input.element = elementType(&context, tensor.elem_type());
  if (!input.element)
    return Status::error(StatusCode::Unsupported, "input " + quoted(info.name()) + ": type tensor(" +
                             (tensor.elem_type() == ::onnx::TensorProto::STRING ? std::string("string")
                                                                                : std::to_string(tensor.elem_type())) +
                             ") unsupported");
  if (!tensor.has_shape())
    return Status::error(StatusCode::Unsupported, "input " + quoted(info.name()) + ": rank is not known",
                         "export the model with shapes of its inputs");
  for (const auto &dim : tensor.shape().dim()) {
    bool isStatic = dim.has_dim_value() && dim.dim_value() >= 0;
    input.dims.push_back(isStatic ? dim.dim_value() : kDynamic);
    input.symbols.push_back(dim.has_dim_param() ? dim.dim_param() : "");
  }
  return input;
}

/// The candidate closest to `name`, or "" if none is close.
static std::string nearest(const std::string &name, const std::vector<std::string> &candidates) {
  std::string best;
  unsigned bestDistance = static_cast<unsigned>(name.size() / 2 + 1);
  for (const std::string &c : candidates)
    if (unsigned d = llvm::StringRef(name).edit_distance(c); d < bestDistance) {
      best = c;
      bestDistance = d;
    }
  return best;
}

static Status unknownName(const std::string &flag, const char *what, const std::string &name, const std::vector<std::string> &known) {
  std::string close = nearest(name, known);
  std::string message = flag + ": no " + what + " " + quoted(name);
  if (!close.empty())
    message += "; did you mean " + quoted(close) + "?";
  return Status::error(StatusCode::Usage, message, std::string(what) + "s: " + llvm::join(known, ", "));
}

static Status applyShape(std::vector<InputInfo> &inputs, const std::string &name, const std::vector<int64_t> &shape) {
  std::vector<std::string> names;
  for (InputInfo &input : inputs) {
    names.push_back(input.name);
    if (input.name != name)
      continue;
    bool fits = input.dims.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits = input.dims[i] == kDynamic || input.dims[i] == shape[i];
    if (!fits)
      return Status::error(StatusCode::Usage, "--shape " + name + ": does not fit the model's shape",
                           "fixed dims cannot be changed; export the model with dynamic axes");
    input.dims.assign(shape.begin(), shape.end());
    return {};
  }
  return unknownName("--shape", "input", name, names);
}

static Status applyDim(std::vector<InputInfo> &inputs, const std::string &name, int64_t size) {
  std::vector<std::string> names;
  bool found = false;
  for (InputInfo &input : inputs)
    for (size_t i = 0; i < input.dims.size(); ++i) {
      const std::string &symbol = input.symbols[i];
      if (!symbol.empty() && !llvm::is_contained(names, symbol))
        names.push_back(symbol);
      if (symbol != name)
        continue;
      found = true;
      if (input.dims[i] == kDynamic)
        input.dims[i] = size;
    }
  return found ? Status() : unknownName("--dim", "dim", name, names);
}

Status import::applyShapes(std::vector<InputInfo> &inputs, const ImportOptions &options) {
  for (const auto &[name, shape] : options.shapes)
    GAUDI_TRY(applyShape(inputs, name, shape));
  for (const auto &[name, size] : options.dims)
    GAUDI_TRY(applyDim(inputs, name, size));
  return {};
}

Status gaudi::requireStaticInputs(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  std::string dims, flags;
  std::vector<std::string> seen;
  for (BlockArgument arg : main.getArguments()) {
    unsigned i = arg.getArgNumber();
    std::string name = main.getArgAttrOfType<StringAttr>(i, "graph.name").str();
    auto symbols = main.getArgAttrOfType<ArrayAttr>(i, "graph.dims");
    auto type = cast<RankedTensorType>(arg.getType());
    bool unnamed = false;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!type.isDynamicDim(d))
        continue;
      std::string symbol = cast<StringAttr>(symbols[d]).str();
      dims += (dims.empty() ? "" : ", ") + name + "[" + std::to_string(d) + "]" + (symbol.empty() ? "" : " (" + symbol + ")");
      unnamed |= symbol.empty();
      if (!symbol.empty() && !llvm::is_contained(seen, symbol)) {
        seen.push_back(symbol);
        bool quote = symbol.find_first_of(" *+-/()") != std::string::npos;
        flags += std::string(" --dim ") + (quote ? "'" : "") + symbol + "=" + (symbol.find("batch") != std::string::npos ? "1" : "128") +
                 (quote ? "'" : "");
      }
    }
    if (unnamed) {
      flags += " --shape " + name + "=";
      for (int64_t d = 0; d < type.getRank(); ++d)
        flags += (d ? "x" : "") + std::to_string(type.isDynamicDim(d) ? 1 : type.getDimSize(d));
    }
  }
  if (dims.empty())
    return {};
  return Status::error(StatusCode::Usage, "free dims: " + dims + "; give their sizes", "for example:" + flags);
}

static bool parseNumber(std::string_view text, int64_t &out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out >= 0;
}

Expected<std::pair<std::string, std::vector<int64_t>>> gaudi::parseShapeFlag(const std::string &text) {
  size_t equals = text.rfind('=');
  std::vector<int64_t> dims;
  bool ok = equals != std::string::npos && equals > 0;
  for (size_t at = equals + 1; ok && at < text.size();) {
    size_t end = std::min(text.find('x', at), text.size());
    int64_t d = 0;
    ok = parseNumber(std::string_view(text).substr(at, end - at), d) && (end == text.size() || end + 1 < text.size());
    dims.push_back(d);
    at = end + 1;
  }
  if (!ok)
    return Status::error(StatusCode::Usage, "--shape: cannot read '" + text + "'", "write --shape name=1x128");
  return std::make_pair(text.substr(0, equals), dims);
}

Expected<std::pair<std::string, int64_t>> gaudi::parseDimFlag(const std::string &text) {
  size_t equals = text.rfind('=');
  int64_t size = 0;
  if (equals == std::string::npos || equals == 0 || !parseNumber(std::string_view(text).substr(equals + 1), size))
    return Status::error(StatusCode::Usage, "--dim: cannot read '" + text + "'", "write --dim batch=8");
  return std::make_pair(text.substr(0, equals), size);
}
