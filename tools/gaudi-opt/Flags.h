//===- Flags.h - command line of the compile mode ---------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "lib/Driver/Compile.h"
#include "runtime/cache/Cache.h"

#include <string>
#include <vector>

namespace gaudi {

/// `gaudi-opt MODEL.onnx ...` as given.
struct Flags {
  driver::CompileOptions compile;
  driver::Stage stage = driver::Stage::Artifact;
  std::string output;   ///< -o
  bool resolve = false; ///< through the cache, one JSON line on stdout
  cache::Mode cacheMode = cache::Mode::ReadWrite;
  std::string cacheDir;
  uint64_t cacheMaxBytes = 0; ///< 0 = the cache's default
  bool quiet = false, verbose = false, help = false, version = false, supported = false;
};

/// Whether `name` is a flag of the compile mode and of no other: "--dim", not "-o".
bool isCompileFlag(const std::string &name);

/// Usage errors name the nearest flag.
Expected<Flags> parseFlags(const std::vector<std::string> &arguments);

/// "4096", "5GiB". `flag` is for the message.
Status parseSizeFlag(const char *flag, const std::string &value, uint64_t &bytes);

/// At most 40 lines.
const char *helpText();

} // namespace gaudi
