//===- Tensor.h - element types, shapes and tensor views --------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gaudi {

/// Element type. Stored in artefacts: never renumber.
enum class DType : uint8_t {
  F32 = 0, F16 = 1, BF16 = 2, F64 = 3,
  I8 = 4, I16 = 5, I32 = 6, I64 = 7,
  U8 = 8, U16 = 9, U32 = 10, U64 = 11,
  Bool = 12, ///< one byte, 0 or 1
};

/// Size of one element in bytes.
constexpr size_t sizeOf(DType t) {
  constexpr uint8_t table[] = {4, 2, 2, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1};
  return table[static_cast<size_t>(t)];
}

/// "f32", "bf16", "i64", "bool" ...
std::string_view nameOf(DType t);
/// Inverse of nameOf; also takes numpy spellings ("float32", "int64"). False if unknown.
bool parseDType(std::string_view name, DType &out);

/// Name, element type and shape of an input or output of an executable.
struct TensorSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape; ///< row-major, all dims >= 0; empty = scalar

  int64_t elementCount() const {
    int64_t n = 1;
    for (int64_t d : shape)
      n *= d;
    return n;
  }
  size_t sizeBytes() const { return static_cast<size_t>(elementCount()) * sizeOf(dtype); }
};

/// "f32[1,128,384]".
std::string toString(const TensorSpec &spec);

/// Unowned, row-major, contiguous data; the caller keeps it alive. 64-byte alignment is faster but not required.
struct TensorView {
  void *data = nullptr;
  size_t sizeBytes = 0;
};

} // namespace gaudi
