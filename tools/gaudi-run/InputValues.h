//===- InputValues.h - one --input ------------------------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "tools/gaudi-run/io/Array.h"

#include <optional>
#include <string>
#include <string_view>

namespace gaudi::run {

/// `--input NAME=VALUE`, checked as far as it can be without the model; files with a type of their own are loaded.
struct InputRequest {
  enum class Kind { Data, RawFile, Random, Ids, Zeros, Ones, Literal };
  std::string name; ///< "*" = every input without a value of its own
  Kind kind = Kind::Zeros;
  io::Array data;                  ///< Data
  std::string text;                ///< RawFile: path; Literal: values
  uint64_t seed = 1;               ///< Random, Ids
  std::optional<double> low, high; ///< Random: range; Ids: [0, high)

  /// "ids=1x128" for gaudi-opt's --shape when the value has a shape; "" otherwise.
  std::string shapeFlag() const;
};

/// VALUE is @f.npy, @f.npz[:key], @f.pb, @f.bin (raw), random[:seed=1,range=0..1], ids[:max=N,seed=1], zeros, ones,
/// 1,2,3 or f32[2]=1,2. Errors: Usage, and those of the file.
Expected<InputRequest> parseInput(std::string_view argument);

/// The tensor for an input of this type and shape. Random numbers depend on seed, input name and index only, so that
/// every machine and thread count gives the same. Errors: Usage when type or shape differ (no silent conversion).
Expected<io::Array> makeInput(InputRequest &request, const TensorSpec &spec);

/// A tensor from @f.npy, @f.npz[:key], @f.pb, or for a known `spec` from any other file, raw.
Expected<io::Array> loadTensor(const std::string &path, const std::string &name, const TensorSpec *spec);

/// Usage error `input 'x': got f64[1,127], need f32[1,128]` unless type and shape are equal.
Status checkSpec(const std::string &where, const TensorSpec &got, const TensorSpec &needed);

} // namespace gaudi::run
