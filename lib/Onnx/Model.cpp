//===- Model.cpp - reads an ONNX model file step by step ------------------===//
#include "lib/Onnx/Model.h"
#include "lib/Onnx/Checks.h"
#include "runtime/base/Text.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace gaudi {

struct OnnxModel::Impl {
  std::string path;
  WeightStore store; ///< file 0 is the model itself
  ::onnx::ModelProto proto;
  FunctionDefaults functionDefaults;
  std::vector<NamedTensor> tensors;
  std::unordered_map<const ::onnx::TensorProto *, TensorLiteral> literals;
  std::deque<std::vector<std::byte>> smallBytes; ///< decoded literals that are not worth a file number
  std::unordered_map<const void *, std::vector<int>> nodeOrder;
  std::vector<std::string> warnings;
  Digest128 skeletonDigest;

  Status load(const std::string &folder, const ReadOptions &options);
  Status parseSkeleton(const Skeleton &skeleton);
  Status readLiterals(const Skeleton &skeleton, const std::string &folder, const ReadOptions &options);
  template <typename Visit> void forEachWeight(Visit visit) const;
  void finishDigest(Xxh3Stream &hash);
};

Status OnnxModel::Impl::parseSkeleton(const Skeleton &skeleton) {
  // libprotobuf prints what it dislikes to stderr; our Status says it instead.
  google::protobuf::LogSilencer silence;
  if (!proto.ParseFromArray(skeleton.bytes.data(), static_cast<int>(skeleton.bytes.size())))
    return Status::error(StatusCode::InvalidInput, "malformed protobuf message (types or values nested too deeply?)");
  if (!proto.has_graph())
    return Status::error(StatusCode::InvalidInput, "not an ONNX model: it has no graph");
  if (proto.training_info_size())
    warnings.push_back("training_info is ignored");
  return parseFunctionDefaults(proto, functionDefaults);
}

Status OnnxModel::Impl::readLiterals(const Skeleton &skeleton, const std::string &folder, const ReadOptions &options) {
  tensors = collectTensors(proto, functionDefaults);
  ExternalData external(folder, options.externalRoot, store, warnings);
  LiteralReader reader(skeleton.cuts, external, store, smallBytes, options);
  for (const NamedTensor &named : tensors) {
    auto literal = reader.read(named);
    if (!literal.ok())
      return literal.takeStatus();
    literals.emplace(named.tensor, literal.take());
  }
  return {};
}

/// Contents that become part of the program but were cut from, or never in, the skeleton.
void OnnxModel::Impl::finishDigest(Xxh3Stream &hash) {
  for (const NamedTensor &named : tensors)
    if (const TensorLiteral &literal = literals.at(named.tensor); literal.bytes.size() <= kDenseLimitBytes)
      hash.update(literal.bytes);
  skeletonDigest = hash.digest();
}

Status OnnxModel::Impl::load(const std::string &folder, const ReadOptions &options) {
  auto skeleton = scanModel(store.bytes(0, 0, store.fileSizeBytes(0)), {.maxNodes = options.maxNodes});
  if (!skeleton.ok())
    return skeleton.takeStatus();
  GAUDI_TRY(parseSkeleton(*skeleton));
  GAUDI_TRY(checkOpsets(proto));
  GAUDI_TRY(checkFunctions(proto));
  GAUDI_TRY(checkStructure(proto, options, nodeOrder));
  GAUDI_TRY(readLiterals(*skeleton, folder, options));
  finishDigest(*skeleton->hash);
  return {};
}

static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Expected<OnnxModel> OnnxModel::read(const std::string &path, const ReadOptions &options) {
  auto file = MappedFile::open(path);
  if (!file.ok())
    return file.takeStatus();
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->store.addMapped(file.take(), path);
  GAUDI_TRY(impl->load(folderOf(path), options).annotate(path));
  return OnnxModel(std::move(impl));
}

Expected<OnnxModel> OnnxModel::parse(std::span<const std::byte> bytes, const std::string &name,
                                     const std::string &folder, const ReadOptions &options) {
  auto impl = std::make_unique<Impl>();
  impl->path = name;
  impl->store.addBorrowed(name, bytes);
  GAUDI_TRY(impl->load(folder, options).annotate(name));
  return OnnxModel(std::move(impl));
}

OnnxModel::OnnxModel(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
OnnxModel::OnnxModel(OnnxModel &&) noexcept = default;
OnnxModel &OnnxModel::operator=(OnnxModel &&) noexcept = default;
OnnxModel::~OnnxModel() = default;

const ::onnx::ModelProto &OnnxModel::proto() const { return impl->proto; }
const std::string &OnnxModel::path() const { return impl->path; }
const WeightStore &OnnxModel::weights() const { return impl->store; }
const std::vector<std::string> &OnnxModel::warnings() const { return impl->warnings; }
Digest128 OnnxModel::skeletonDigest() const { return impl->skeletonDigest; }

const TensorLiteral &OnnxModel::literal(const ::onnx::TensorProto &tensor) const { return impl->literals.at(&tensor); }

const std::vector<int> &OnnxModel::nodeOrder(const void *graphOrFunction) const {
  return impl->nodeOrder.at(graphOrFunction);
}

const std::deque<::onnx::AttributeProto> &OnnxModel::defaults(const ::onnx::FunctionProto &function) const {
  static const std::deque<::onnx::AttributeProto> none;
  auto it = impl->functionDefaults.find(&function);
  return it == impl->functionDefaults.end() ? none : it->second;
}

std::optional<std::string> OnnxModel::filesIdentity() const {
  std::string text;
  for (uint32_t i = 0; i < impl->store.fileCount(); ++i) {
    if (!impl->store.isMapped(i)) // made from the bytes of those that are
      continue;
    const FileIdentity &file = impl->store.identity(i);
    if (!file.hasSettled())
      return std::nullopt;
    text += file.text() + "; ";
  }
  return text.empty() ? std::nullopt : std::optional(text);
}

/// Calls `visit` for the tensors that are too large to be part of the program, in file order.
template <typename Visit> void OnnxModel::Impl::forEachWeight(Visit visit) const {
  for (const NamedTensor &named : tensors)
    if (const TensorLiteral &literal = literals.at(named.tensor); literal.bytes.size() > kDenseLimitBytes)
      visit(literal);
}

Digest128 OnnxModel::layoutDigest() const {
  Xxh3Stream hash;
  impl->forEachWeight([&](const TensorLiteral &literal) {
    uint64_t place[] = {literal.ref->file, literal.ref->offset, literal.ref->length};
    hash.update(std::as_bytes(std::span(place)));
  });
  return hash.digest();
}

Digest128 OnnxModel::weightsDigest() const {
  Xxh3Stream hash;
  impl->forEachWeight([&](const TensorLiteral &literal) { hash.update(literal.bytes); });
  return hash.digest();
}

} // namespace gaudi
