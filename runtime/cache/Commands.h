//===- Commands.h - the verbs of `gaudi-opt cache` and `gaudi-run cache` --===//
#pragma once

#include "runtime/cache/Cache.h"

namespace gaudi::cache {

struct CommandOptions {
  std::string directory;          ///< empty = defaultDirectory()
  std::string verb;               ///< one of kVerbs
  std::string key;                ///< show, explain: at least 4 hex digits of a key
  uint64_t maxBytes = 5ull << 30; ///< prune
  bool json = false;
};

inline constexpr std::string_view kVerbs[] = {"stats", "list", "show", "explain", "verify", "prune", "clear"};

/// Runs one verb; its result is appended to `out`, one text table or one JSON value with a final newline. Errors: Usage
/// (unknown verb, key that names no or several entries), CacheMiss (no usable folder), Failed (verify found damage; the
/// damaged entries are in q/ and `out` names them).
Status runCommand(const CommandOptions &options, std::string &out);

} // namespace gaudi::cache
