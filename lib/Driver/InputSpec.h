//===- InputSpec.h - what a program is specialised to -----------*- C++ -*-===//
#pragma once

#include "lib/Driver/Compile.h"

namespace gaudi::driver {

/// "x=2x128;m=?x128;": the shape of each input once the flags are applied. Part of the cache key, so that however a
/// shape is given (in the model, by --dim, by --shape, by the input file that gaudi-run read it from) it names the same
/// program.
std::string inputSpec(const OnnxModel &model, const CompileOptions &options);

} // namespace gaudi::driver
