//===- Cache.cpp - gaudi-opt cache ----------------------------------------===//
#include "tools/gaudi-opt/Modes.h"

#include "runtime/base/Text.h"
#include "runtime/cache/Commands.h"

#include "llvm/Support/raw_ostream.h"

using namespace gaudi;

static Status usage(std::string what, std::string hint = "gaudi-opt cache --help lists the flags") {
  return Status::error(StatusCode::Usage, std::move(what), std::move(hint));
}

static const char *cacheHelp() {
  return R"(usage: gaudi-opt cache VERB [KEY] [flags]     look at and clean the compile cache; gaudi-run cache is the same

  stats                  look-ups, hits, files, time saved
  list                   entries, newest first
  show KEY               one entry; the first 4 digits of its key are enough
  explain KEY            what differs from the nearest other program
  verify                 read every byte; damaged entries are moved away
  prune                  remove the oldest entries down to --max-size
  clear                  remove everything

  --cache-dir DIR        default: $GAUDI_CACHE_DIR, else ~/.cache/gaudi
  --max-size SIZE        what prune leaves (5GiB)
  --json                 for machines
)";
}

Status gaudi::runCacheMode(const std::vector<std::string> &arguments) {
  cache::CommandOptions command;
  std::vector<std::string> words;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    std::string name = argument.substr(0, argument.find('='));
    if (argument.empty() || argument[0] != '-') {
      words.push_back(argument);
    } else if (argument == "--help") {
      llvm::outs() << cacheHelp();
      return {};
    } else if (argument == "--json") {
      command.json = true;
    } else if (name == "--cache-dir" || name == "--max-size") {
      if (name.size() == argument.size() && ++i == arguments.size())
        return usage(name + " needs a value");
      std::string value = name.size() == argument.size() ? arguments[i] : argument.substr(name.size() + 1);
      if (name == "--cache-dir")
        command.directory = value;
      else
        GAUDI_TRY(parseSizeFlag("--max-size", value, command.maxBytes));
    } else {
      return usage("unknown flag '" + name + "'");
    }
  }
  if (words.empty())
    return usage("cache: no verb given", "verbs: " + join(cache::kVerbs, ", "));
  if (words.size() > 2)
    return usage("cache: too many words (found '" + words[2] + "', expected VERB and KEY at most)");
  command.verb = words[0];
  command.key = words.size() > 1 ? words[1] : "";
  std::string out;
  Status status = cache::runCommand(command, out); // `verify` has results and an error
  llvm::outs() << out;
  return status;
}
