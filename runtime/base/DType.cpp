//===- DType.cpp - names of element types ---------------------------------===//
#include "gaudi/Tensor.h"
#include "runtime/base/Text.h"

namespace gaudi {

namespace {
struct DTypeName {
  std::string_view name, numpy;
};
/// Indexed by DType.
constexpr DTypeName dtypeNames[] = {
    {"f32", "float32"}, {"f16", "float16"}, {"bf16", "bfloat16"}, {"f64", "float64"}, {"i8", "int8"},
    {"i16", "int16"},   {"i32", "int32"},   {"i64", "int64"},     {"u8", "uint8"},    {"u16", "uint16"},
    {"u32", "uint32"},  {"u64", "uint64"},  {"bool", "bool"},
};
} // namespace

std::string_view nameOf(DType t) {
  auto index = static_cast<size_t>(t);
  return index < std::size(dtypeNames) ? dtypeNames[index].name : "invalid";
}

bool parseDType(std::string_view name, DType &out) {
  for (size_t i = 0; i < std::size(dtypeNames); ++i) {
    if (dtypeNames[i].name == name || dtypeNames[i].numpy == name) {
      out = static_cast<DType>(i);
      return true;
    }
  }
  return false;
}

std::string toString(const TensorSpec &spec) { return cat(nameOf(spec.dtype), '[', join(spec.shape, ","), ']'); }

} // namespace gaudi
