//===- Cli.h - the command line ---------------------------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "tools/gaudi-run/Options.h"

#include <string>
#include <vector>

namespace gaudi::run {

struct ParsedCommandLine {
  Options options;
  std::string print; ///< --help, --help-all, --version: text for stdout; nothing else is to be done
};

/// `arguments` without the program's name. The first may be a subcommand; otherwise `run` is meant, so that
/// `gaudi-run model.gdx ...` works. Errors: Usage, with the nearest name of what is unknown.
Expected<ParsedCommandLine> parseCommandLine(std::vector<std::string> arguments);

/// What --help prints; at most 40 lines.
const char *shortHelp();

} // namespace gaudi::run
