//===- Literal.h - tensors written on the command line ----------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "tools/gaudi-run/io/Array.h"

#include <optional>
#include <string_view>

namespace gaudi::run {

/// "f32[2,3]" or "i64[]"; empty if `text` is not a type.
std::optional<TensorSpec> parseType(std::string_view text);

/// Values separated by commas into `spec`'s type: "1,2,3", "true,false", "1e-3,inf". Their number must be the element
/// count. Errors: Usage, `WHERE: ...`.
Expected<io::Array> parseLiteral(std::string_view text, const TensorSpec &spec, const std::string &where);

/// The inverse, "f32[2]=1,2": reads back to the same bits. At most `maxElements` values, then "...".
std::string formatLiteral(const TensorSpec &spec, const void *data, size_t maxElements = SIZE_MAX);

} // namespace gaudi::run
