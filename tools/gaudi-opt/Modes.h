//===- Modes.h - the modes of gaudi-opt ---------------------*- C++ -*-===//
#pragma once

#include "tools/gaudi-opt/Flags.h"

namespace gaudi {

/// Compiles, prints a stage, or resolves through the cache.
Status runCompileMode(const Flags &flags);

/// `gaudi-opt cache VERB ...`; `arguments` are those behind the word.
Status runCacheMode(const std::vector<std::string> &arguments);

/// mlir-opt over our dialects and passes; returns the exit code.
int runPassDriver(int argc, char **argv);

} // namespace gaudi
