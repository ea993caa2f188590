//===- Commands.h - the subcommands -----------------------------*- C++ -*-===//
#pragma once

#include "tools/gaudi-run/Console.h"

namespace gaudi::run {

/// Each prints its results and returns ok or why not; the code of the status is the exit code.
Status runCommand(const Options &options, const Console &console);
Status benchCommand(const Options &options, const Console &console);
Status compareCommand(const Options &options, const Console &console);
Status inspectCommand(const Options &options, const Console &console);
Status devicesCommand(const Options &options, const Console &console);
Status cacheCommand(const Options &options, const Console &console);

} // namespace gaudi::run
