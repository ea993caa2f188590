//===- Checks.h - the steps of reading a model, in order --------*- C++ -*-===//
#pragma once

#include "lib/Onnx/ExternalData.h"
#include "lib/Onnx/Proto.h"
#include "lib/Onnx/Scan.h"

#include <unordered_map>

namespace gaudi {

/// Opset imports of the model and its functions: ai.onnx declared where it is used and in [kMinOpset, kMaxOpset].
Status checkOpsets(const ::onnx::ModelProto &model);

/// Names are defined once, used after a definition exists, not longer than the limit, and not in a cycle. Fills the
/// node order of every graph, subgraph and function body (see OnnxModel::nodeOrder).
Status checkStructure(const ::onnx::ModelProto &model, const ReadOptions &options,
                      std::unordered_map<const void *, std::vector<int>> &nodeOrder);

/// Local functions are unique and do not call themselves, directly or through others.
Status checkFunctions(const ::onnx::ModelProto &model);

/// Default attributes of functions by FunctionProto. Addresses inside are stable.
using FunctionDefaults = std::unordered_map<const ::onnx::FunctionProto *, std::deque<::onnx::AttributeProto>>;
Status parseFunctionDefaults(const ::onnx::ModelProto &model, FunctionDefaults &defaults);

/// All tensors of the model in the order of the file, with a description for messages (`'w'`, or the attribute's
/// place).
struct NamedTensor {
  const ::onnx::TensorProto *tensor;
  std::string where;
};
std::vector<NamedTensor> collectTensors(const ::onnx::ModelProto &model, const FunctionDefaults &defaults);

/// Turns TensorProtos into literals: checks shape, type and size, finds the bytes in the model file (store number 0),
/// in external files, or decodes them into memory owned by `store` (large) or `small`.
class LiteralReader {
public:
  LiteralReader(const std::vector<CutData> &cuts, ExternalData &external, WeightStore &store,
                std::deque<std::vector<std::byte>> &small, const ReadOptions &options)
      : cuts(cuts), external(external), store(store), small(small), options(options) {}

  Expected<TensorLiteral> read(const NamedTensor &named);

private:
  struct Source;
  Status readShape(const NamedTensor &named, TensorLiteral &literal, uint64_t &sizeBytes);
  Status findSource(const NamedTensor &named, Source &source);
  Status takeContiguous(const NamedTensor &named, std::span<const std::byte> bytes, uint64_t sizeBytes,
                        TensorLiteral &literal);
  Status takeDecoded(const NamedTensor &named, std::vector<std::byte> bytes, uint64_t sizeBytes,
                     TensorLiteral &literal);
  Status readSource(const NamedTensor &named, const Source &source, uint64_t sizeBytes, TensorLiteral &literal);

  const std::vector<CutData> &cuts;
  ExternalData &external;
  WeightStore &store;
  std::deque<std::vector<std::byte>> &small;
  const ReadOptions &options;
};

} // namespace gaudi
