//===- Literal.cpp - tensors written on the command line ------------------===//
#include "tools/gaudi-run/Literal.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/Elements.h"
#include "tools/gaudi-run/Words.h"

#include <charconv>

namespace gaudi::run {

std::optional<TensorSpec> parseType(std::string_view text) {
  size_t bracket = text.find('[');
  TensorSpec spec;
  if (bracket == std::string_view::npos || !text.ends_with(']') || !parseDType(text.substr(0, bracket), spec.dtype))
    return std::nullopt;
  std::string_view dims = text.substr(bracket + 1, text.size() - bracket - 2);
  if (dims.empty())
    return spec;
  for (std::string_view part : split(dims, ',')) {
    int64_t dim;
    if (!parseNumber(part, dim) || dim < 0)
      return std::nullopt;
    spec.shape.push_back(dim);
  }
  uint64_t count;
  return checkedElementCount(spec.shape, count) ? std::optional(spec) : std::nullopt;
}

/// False if `text` is no value of the type.
static bool storeText(std::string_view text, DType dtype, void *data, size_t i) {
  if (isFloat(dtype)) {
    double value;
    if (!parseNumber(text, value))
      return false;
    storeElement(dtype, data, i, value);
    return true;
  }
  if (dtype == DType::Bool && (text == "true" || text == "false")) {
    storeInteger(dtype, data, i, text == "true");
    return true;
  }
  int64_t value;
  if (!parseNumber(text, value) || value < lowestOf(dtype) || value > highestOf(dtype))
    return false;
  storeInteger(dtype, data, i, value);
  return true;
}

Expected<io::Array> parseLiteral(std::string_view text, const TensorSpec &spec, const std::string &where) {
  std::vector<std::string_view> parts;
  if (!text.empty())
    parts = split(text, ',');
  auto count = static_cast<size_t>(spec.elementCount());
  if (parts.size() != count)
    return Status::error(StatusCode::Usage, cat(where, ": wrong number of values (found ", parts.size(), ", expected ",
                                                count, " for ", toString(spec), ")"));
  io::Array array = io::Array::zeros(spec);
  if (!array.valid())
    return Status::error(StatusCode::ResourceLimit, cat(where, ": no memory for ", toString(spec)));
  for (size_t i = 0; i < count; ++i)
    if (!storeText(parts[i], spec.dtype, array.data.get(), i))
      return Status::error(StatusCode::Usage, cat(where, ": value ", i, " is not a ", nameOf(spec.dtype), " (found '",
                                                  parts[i].substr(0, 32), "')"));
  return array;
}

/// Shortest decimal that reads back to the same value of the type: 16-bit floats by way of float.
static std::string formatElement(DType dtype, const void *data, size_t i) {
  if (!isFloat(dtype))
    return dtype == DType::U64 ? std::to_string(static_cast<const uint64_t *>(data)[i])
                               : std::to_string(loadInteger(dtype, data, i));
  double value = loadElement(dtype, data, i);
  char buffer[32];
  char *end = dtype == DType::F64 ? std::to_chars(buffer, buffer + sizeof buffer, value).ptr
                                  : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr;
  return {buffer, end};
}

std::string formatLiteral(const TensorSpec &spec, const void *data, size_t maxElements) {
  std::string out = toString(spec) + "=";
  auto count = static_cast<size_t>(spec.elementCount());
  for (size_t i = 0; i < std::min(count, maxElements); ++i)
    (i ? out += ',' : out) += formatElement(spec.dtype, data, i);
  return count > maxElements ? out + ",..." : out;
}

} // namespace gaudi::run
