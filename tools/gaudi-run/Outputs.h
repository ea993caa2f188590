//===- Outputs.h - --output and --expect ------------------------*- C++ -*-===//
#pragma once

#include "tools/gaudi-run/Console.h"
#include "tools/gaudi-run/Options.h"
#include "tools/gaudi-run/io/Array.h"

#include <vector>

namespace gaudi::run {

/// Checks names and forms of --output and --expect before anything is run. Errors: Usage.
Status checkOutputFlags(const Options &options, const std::vector<TensorSpec> &signature);

/// Writes what --output asks for: name=@f.npy, name=@f.npz (several may share it), @all.npz, name=-. Errors: Runtime.
Status writeOutputs(const Options &options, const std::vector<io::Array> &outputs, const Console &console);

/// Minimum, maximum, mean and numbers of NaN and infinite elements, one line per output.
std::string summarizeOutputs(const std::vector<io::Array> &outputs);

/// Compares with every --expect; `report` gets one paragraph each. False if one differs.
Expected<bool> checkExpectations(const Options &options, const std::vector<io::Array> &outputs, std::string &report);

/// Failed if an output has a NaN or infinity: `output 'y': 3 of 192 elements are NaN (first at [0,1])`.
Status checkFinite(const std::vector<io::Array> &outputs);

} // namespace gaudi::run
