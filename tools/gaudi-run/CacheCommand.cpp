//===- CacheCommand.cpp - gaudi-run cache ---------------------------------===//
#include "runtime/base/Text.h"
#include "runtime/cache/Commands.h"
#include "tools/gaudi-run/Commands.h"
#include "tools/gaudi-run/Words.h"

namespace gaudi::run {

Status cacheCommand(const Options &options, const Console &console) {
  cache::CommandOptions command;
  command.directory = options.model.cacheDir;
  command.verb = options.cacheVerb;
  command.key = options.cacheKey;
  command.json = console.wantsJson();
  if (!parseSize(options.cacheMaxSize, command.maxBytes))
    return Status::error(StatusCode::Usage, cat("--max-size: cannot read '", options.cacheMaxSize, "'"),
                         "a size: 500MiB, 5GiB");
  std::string out;
  Status status = cache::runCommand(command, out); // `verify` has results and an error
  if (command.json && out.ends_with('\n'))
    out.pop_back();
  if (!out.empty())
    GAUDI_TRY(command.json ? console.json(out) : console.result(out));
  return status;
}

} // namespace gaudi::run
