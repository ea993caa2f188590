//===- WeightStore.cpp - bytes of weights by reference --------------------===//
#include "lib/Onnx/WeightStore.h"
#include "runtime/base/SafeMath.h"

namespace gaudi {

uint32_t WeightStore::addMapped(MappedFile file, std::string path) {
  Entry &entry = files.emplace_back();
  entry.path = std::move(path);
  entry.mapping = std::move(file);
  entry.bytes = entry.mapping.bytes();
  entry.mapped = true;
  return static_cast<uint32_t>(files.size() - 1);
}

uint32_t WeightStore::addOwned(std::string name, std::vector<std::byte> bytes) {
  Entry &entry = files.emplace_back();
  entry.path = std::move(name);
  entry.owned = std::move(bytes);
  entry.bytes = entry.owned;
  return static_cast<uint32_t>(files.size() - 1);
}

uint32_t WeightStore::addBorrowed(std::string name, std::span<const std::byte> bytes) {
  Entry &entry = files.emplace_back();
  entry.path = std::move(name);
  entry.bytes = bytes;
  return static_cast<uint32_t>(files.size() - 1);
}

std::span<const std::byte> WeightStore::bytes(uint32_t file, uint64_t offset, uint64_t length) const {
  if (file >= files.size() || !insideRange(offset, length, files[file].bytes.size()))
    return {};
  return files[file].bytes.subspan(offset, length);
}

} // namespace gaudi
