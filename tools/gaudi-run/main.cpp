//===- main.cpp - gaudi-run -----------------------------------------------===//
#include "tools/gaudi-run/Cli.h"
#include "tools/gaudi-run/Commands.h"
#include "tools/gaudi-run/Interrupt.h"
#include "tools/gaudi-run/Words.h"

#include <cstdio>
#include <exception>

using namespace gaudi;
using namespace gaudi::run;

static Status dispatch(const Options &options, const Console &console) {
  switch (options.command) {
  case Options::Command::Run:
    return runCommand(options, console);
  case Options::Command::Bench:
    return benchCommand(options, console);
  case Options::Command::Compare:
    return compareCommand(options, console);
  case Options::Command::Inspect:
    return inspectCommand(options, console);
  case Options::Command::Devices:
    return devicesCommand(options, console);
  case Options::Command::Cache:
    return cacheCommand(options, console);
  case Options::Command::None:
    break;
  }
  return Status::error(StatusCode::Internal, "no command");
}

static int runTool(int argc, char **argv) {
  Expected<ParsedCommandLine> parsed = parseCommandLine({argv + 1, argv + argc});
  if (!parsed.ok())
    return Console(Options()).error(parsed.status());
  if (!parsed->print.empty())
    return std::fputs(parsed->print.c_str(), stdout) < 0;
  const Options &options = parsed->options;
  double seconds = 0;
  (void)parseDuration(options.timeout, seconds); // checked; "" leaves no limit
  installInterrupts(options.timeout.empty() ? 0 : seconds);
  Console console(options);
  Status status = dispatch(options, console);
  return status.ok() ? 0 : console.error(status);
}

int main(int argc, char **argv) {
  try {
    return runTool(argc, argv);
  } catch (const std::exception &error) { // CLI11, and the standard library out of memory
    std::fprintf(stderr, "error: internal error: %s\nhint: please report it with the command line\n", error.what());
    return static_cast<int>(StatusCode::Internal);
  }
}
