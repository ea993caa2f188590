//===- Inputs.h - values for a whole signature ------------------*- C++ -*-===//
#pragma once

#include "tools/gaudi-run/InputValues.h"
#include "tools/gaudi-run/Options.h"

#include <vector>

namespace gaudi::run {

/// All --input flags and the files of --inputs DIR: input_0.pb, input_1.pb ... (also in DIR/test_data_set_0, and
/// input0.pb), by the tensor's name or else by position; NAME.npy with '/' written as '_'. --input wins over DIR.
struct InputSet {
  std::vector<InputRequest> requests;
  std::vector<io::Array> byPosition; ///< of .pb files whose tensor has no name; empty arrays where there is none
  std::string directory;
};

/// Errors: Usage (a name twice), and those of the files.
Expected<InputSet> parseInputs(const Options &options);

/// One array per input of the signature. Errors, all Usage: unknown name with the nearest known one; inputs without a
/// value, all at once; a value that does not fit.
Expected<std::vector<io::Array>> buildInputs(InputSet set, const std::vector<TensorSpec> &signature);

/// "  input_ids  i64[1,128]\n" per tensor.
std::string formatSignature(const std::vector<TensorSpec> &specs);

/// Index of `name`; Usage `no input 'idz'; did you mean 'ids'?` otherwise. `what` is "input" or "output".
Expected<size_t> findSpec(const std::vector<TensorSpec> &specs, const std::string &name, const char *what);

} // namespace gaudi::run
