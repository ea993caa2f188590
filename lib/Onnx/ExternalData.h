//===- ExternalData.h - opens the weight files of a model -------*- C++ -*-===//
//
// ONNX's own external-data opener had to be patched four times (knowledge/runtime.md 6.1): prefix checks, `a/../..`,
// symbolic links, races. Here the kernel resolves the path (openat2, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS), the checks
// are made on the descriptor that is then mapped, and sizes are compared with the file before anything is allocated.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gaudi/Status.h"
#include "lib/Onnx/WeightStore.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace onnx {
class TensorProto;
}

namespace gaudi {

class ExternalData {
public:
  /// Locations are relative to `folder` (empty: external data are refused). `root`: --allow-external-root or empty.
  ExternalData(std::string folder, std::string root, WeightStore &store, std::vector<std::string> &warnings)
      : folder(std::move(folder)), root(std::move(root)), store(store), warnings(warnings) {}

  /// The `sizeBytes` bytes of a tensor with data_location EXTERNAL. `shape` and `where` are for messages.
  Expected<WeightRef> find(const ::onnx::TensorProto &tensor, const std::string &where, uint64_t sizeBytes,
                           const std::string &shape);

private:
  struct Entries;
  Status readEntries(const ::onnx::TensorProto &tensor, const std::string &where, Entries &entries);
  Expected<uint32_t> open(const std::string &location, const std::string &where);
  Expected<MappedFile> openInFolder(const std::string &location, const std::string &where, bool &isLink);
  Expected<MappedFile> openInRoot(const std::string &location, const std::string &where);

  std::string folder, root;
  WeightStore &store;
  std::vector<std::string> &warnings;
  std::unordered_map<std::string, uint32_t> opened;
};

} // namespace gaudi
