//===- Model.h - a validated ONNX model with its weights outside -*- C++ -*-===//
//
// Reads untrusted files: everything behind OnnxModel's accessors has been checked against the file's real size and the
// limits of ReadOptions (DESIGN 5, knowledge/runtime.md 6). Weights are never copied: a pre-scan of the wire format
// cuts them out before protobuf sees the file, so that peak memory is the mapping plus a skeleton of a few MiB.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gaudi/Status.h"
#include "gaudi/Tensor.h"
#include "lib/Onnx/WeightStore.h"
#include "runtime/base/Hash.h"

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

// The generated protobuf classes; only .cpp files that walk the model include lib/Onnx/Proto.h.
namespace onnx {
class AttributeProto;
class FunctionProto;
class ModelProto;
class NodeProto;
class TensorProto;
} // namespace onnx

namespace gaudi {

/// Limits of runtime.md 6.1; each has a flag.
struct ReadOptions {
  /// --allow-external-root=DIR: weight files may be links, if what they lead to lies in this folder.
  std::string externalRoot;
  uint64_t maxNodes = 1'000'000;
  uint64_t maxRank = 8;
  uint64_t maxElements = uint64_t(1) << 40; ///< of one tensor
  uint64_t maxNameBytes = 4096;
};

/// A tensor literal of the model (initializer or attribute), checked: `bytes` holds exactly the shape's elements,
/// row-major and little-endian.
struct TensorLiteral {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  /// Where `bytes` are in the WeightStore. Always present above 1 KiB.
  std::optional<WeightRef> ref;
  /// Set instead of the rest for types we do not have, e.g. "tensor(string)" (`dtype` and `bytes` are meaningless).
  std::string unsupportedType;
};

/// An ONNX model file in memory. Immutable after reading, safe to share between threads.
class OnnxModel {
public:
  /// Opens, scans, parses and validates. Errors: Usage (no such file), InvalidInput, Unsupported (opset),
  /// ResourceLimit.
  static Expected<OnnxModel> read(const std::string &path, const ReadOptions &options = {});
  /// The same for bytes that the caller keeps alive; `name` stands for the path in messages, external data are looked
  /// for in `folder` (empty: refused). For tests and fuzzing.
  static Expected<OnnxModel> parse(std::span<const std::byte> bytes, const std::string &name,
                                   const std::string &folder = {}, const ReadOptions &options = {});

  OnnxModel(OnnxModel &&) noexcept;
  OnnxModel &operator=(OnnxModel &&) noexcept;
  ~OnnxModel();

  /// The model without large tensor data. A TensorProto's data fields may have been cut out: use literal().
  const ::onnx::ModelProto &proto() const;
  const std::string &path() const;
  const WeightStore &weights() const;
  /// Shape, type and bytes of a TensorProto inside proto().
  const TensorLiteral &literal(const ::onnx::TensorProto &tensor) const;
  /// Indices of the nodes of a graph or function inside proto(), in an order in which every value is defined before its
  /// uses (also those by subgraphs); the file's own order where that is one.
  const std::vector<int> &nodeOrder(const void *graphOrFunction) const;

  /// Default values of a local function's attributes.
  const std::deque<::onnx::AttributeProto> &defaults(const ::onnx::FunctionProto &function) const;

  /// What was odd but harmless, one line each; to be printed as warnings.
  const std::vector<std::string> &warnings() const;

  /// Identity of the program: everything in the file but file names, documentation, producer and the bytes of weights.
  /// Bytes of tensors up to 4 KiB (kDenseLimitBytes) count, as they become part of the code.
  Digest128 skeletonDigest() const;
  /// Where the tensors that skeletonDigest leaves out lie in the files, in file order. A compiled program refers to them
  /// by position, and weightsDigest does not say which bytes are whose: who shares either must agree on this too.
  Digest128 layoutDigest() const;
  /// Identity of the weights: xxh3-128 over the bytes of every tensor that skeletonDigest leaves out, in file order.
  /// Reads all of them (about 6 GB/s).
  Digest128 weightsDigest() const;
  /// Text that changes whenever one of the model's files does (FileIdentity.h); empty if it cannot be trusted to: a
  /// file has only just been written, or is none.
  std::optional<std::string> filesIdentity() const;

private:
  struct Impl;
  explicit OnnxModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// Tensors up to this size become dense attributes at import, larger ones weight references.
inline constexpr uint64_t kDenseLimitBytes = 4096;

/// The range of ai.onnx opsets whose rules lib/Import has.
inline constexpr int64_t kMinOpset = 7, kMaxOpset = 25;

} // namespace gaudi
