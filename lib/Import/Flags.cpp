//===- Flags.cpp - --shape and --dim --------------------------------------===//
#include "lib/Import/Importer.h"
#include "runtime/base/Text.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace gaudi {

static Status usage(const std::string &what, const std::string &hint = {}) {
  return Status::error(StatusCode::Usage, what, hint);
}

/// Splits at the last '=': names of exporters may hold one, sizes do not.
static bool splitFlag(StringRef text, StringRef &name, StringRef &value) {
  std::tie(name, value) = text.rsplit('=');
  return text.contains('=') && !name.empty();
}

static bool parseSize(StringRef text, int64_t &size) { return !text.getAsInteger(10, size) && size >= 0; }

Expected<std::pair<std::string, std::vector<int64_t>>> parseShapeFlag(const std::string &text) {
  StringRef name, value;
  if (!splitFlag(text, name, value))
    return usage(cat("--shape: found ", quoted(text), ", expected NAME=1x128"));
  std::vector<int64_t> dims;
  SmallVector<StringRef> parts;
  if (!value.empty())
    value.split(parts, value.contains(',') ? ',' : 'x');
  for (StringRef part : parts)
    if (!parseSize(part, dims.emplace_back()))
      return usage(cat("--shape: bad dim ", quoted(part.str()), " in ", quoted(text)), "write --shape NAME=1x128");
  return std::pair(name.str(), std::move(dims));
}

Expected<std::pair<std::string, int64_t>> parseDimFlag(const std::string &text) {
  StringRef name, value;
  int64_t size = 0;
  if (!splitFlag(text, name, value) || !parseSize(value, size))
    return usage(cat("--dim: found ", quoted(text), ", expected NAME=8"));
  return std::pair(name.str(), size);
}

static std::string nearest(StringRef name, ArrayRef<std::string> candidates) {
  std::string best;
  unsigned bestDistance = std::max<unsigned>(2, static_cast<unsigned>(name.size() / 3)) + 1;
  for (const std::string &candidate : candidates) {
    unsigned distance = name.edit_distance(candidate, true, bestDistance);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

/// "no input 'x'; did you mean 'y'? inputs: y, z".
static Status unknownName(StringRef what, StringRef name, ArrayRef<std::string> known) {
  std::string best = nearest(name, known);
  std::string text = cat("no ", what.str(), " ", quoted(name.str()));
  if (!best.empty())
    text += cat("; did you mean ", quoted(best), "?");
  return usage(text + (best.empty() ? "; " : " ") + what.str() + "s: " + (known.empty() ? "none" : llvm::join(known, ", ")));
}

Status import::checkOptions(const ::onnx::GraphProto &graph, const ImportOptions &options) {
  llvm::StringSet<> initializers;
  for (const auto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  std::vector<std::string> inputs, symbols;
  for (const auto &input : graph.input()) {
    if (initializers.contains(input.name()))
      continue;
    inputs.push_back(input.name());
    for (const auto &dim : input.type().tensor_type().shape().dim())
      if (dim.has_dim_param() && !llvm::is_contained(symbols, dim.dim_param()))
        symbols.push_back(dim.dim_param());
  }
  for (const auto &[name, shape] : options.shapes)
    if (!llvm::is_contained(inputs, name))
      return unknownName("input", name, inputs);
  for (const auto &[name, size] : options.dims)
    if (!llvm::is_contained(symbols, name))
      return unknownName("dim", name, symbols);
  return {};
}

namespace {
/// What to paste to make the inputs static: --dim for named dims, once each; --shape for inputs with unnamed ones.
class FlagProposal {
public:
  void add(StringRef input, RankedTensorType type, ArrayAttr symbols) {
    std::vector<std::string> dims, sizes;
    bool hasUnnamed = false;
    for (auto [d, size] : llvm::enumerate(type.getShape())) {
      bool isFree = ShapedType::isDynamic(size);
      StringRef symbol = symbols ? cast<StringAttr>(symbols[d]).getValue() : "";
      // A guess to paste and edit: 1 for what looks like a batch, else a common length.
      std::string guess = !isFree ? std::to_string(size) : d == 0 ? "1" : "128";
      dims.push_back(!isFree ? guess : symbol.empty() ? "?" : symbol.str());
      sizes.push_back(guess);
      hasUnnamed |= isFree && symbol.empty();
      if (isFree && !symbol.empty() && seen.insert(symbol).second)
        flags.push_back(cat("--dim ", shellQuoted(symbol.str() + "=" + guess)));
    }
    free.push_back(cat(input.str(), "[", llvm::join(dims, ","), "]"));
    if (hasUnnamed)
      flags.push_back(cat("--shape ", shellQuoted(input.str() + "=" + llvm::join(sizes, "x"))));
  }

  std::vector<std::string> free, flags;

private:
  llvm::StringSet<> seen;
  /// Symbols of exporters hold spaces and operators ("past_length + 1").
  static std::string shellQuoted(const std::string &text) {
    return StringRef(text).find_first_of(" *+-/()'\"$&;<>|?[]#~!") == StringRef::npos ? text : "'" + text + "'";
  }
};
} // namespace

Status requireStaticInputs(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  FlagProposal proposal;
  for (unsigned i = 0; main && i < main.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(main.getArgument(i).getType());
    auto name = main.getArgAttrOfType<StringAttr>(i, "graph.name");
    if (!type.hasStaticShape())
      proposal.add(name ? name.getValue() : "", type, main.getArgAttrOfType<ArrayAttr>(i, "graph.dims"));
  }
  if (proposal.free.empty())
    return {};
  return usage(cat("inputs have free dims: ", llvm::join(proposal.free, ", ")),
               "give their sizes, for example " + llvm::join(proposal.flags, " "));
}

llvm::ArrayRef<char> ModelWeights::bytes(uint32_t file, uint64_t offset, uint64_t length, Location loc) {
  auto found = store.bytes(file, offset, length);
  if (found.size() != length)
    emitError(loc) << "weight bytes [" << offset << ", " << offset << " + " << length << ") are not in file " << file;
  return {reinterpret_cast<const char *>(found.data()), found.size()};
}

} // namespace gaudi
