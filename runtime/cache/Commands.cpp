//===- Commands.cpp - the verbs of `cache` --------------------------------===//
#include "runtime/cache/Commands.h"
#include "runtime/base/Text.h"
#include "runtime/cache/Json.h"

#include <algorithm>
#include <ctime>

namespace gaudi::cache {

using Infos = std::vector<Cache::Info>;

/// "2026-11-30 04:52:24" in UTC, by hand: strftime depends on the locale.
static std::string formatTime(int64_t unixSeconds) {
  time_t seconds = unixSeconds;
  tm t = {};
  ::gmtime_r(&seconds, &t);
  auto two = [](int v) { return cat(static_cast<char>('0' + v / 10 % 10), static_cast<char>('0' + v % 10)); };
  return cat(t.tm_year + 1900, '-', two(t.tm_mon + 1), '-', two(t.tm_mday), ' ', two(t.tm_hour), ':', two(t.tm_min),
             ':', two(t.tm_sec));
}

static std::string formatSeconds(double ms) {
  auto tenths = static_cast<int64_t>(ms / 100);
  return cat(tenths / 10, '.', tenths % 10, " s");
}

static void stats(Cache &cache, bool json, std::string &out) {
  Statistics s = cache.statistics();
  uint64_t files[3] = {}, bytes[3] = {};
  for (const Cache::Info &info : cache.list(false)) {
    ++files[size_t(info.kind)];
    bytes[size_t(info.kind)] += info.fileBytes;
  }
  if (json) {
    json::Writer w;
    w.beginObject().field("path", cache.path()).field("hits", s.hits).field("misses", s.misses);
    w.field("corrupt", s.corrupt).field("puts", s.puts).field("evicted", s.evicted).field("saved_ms", s.savedMs);
    for (Kind kind : kAllKinds)
      w.key(nameOf(kind))
          .beginObject()
          .field("files", files[size_t(kind)])
          .field("bytes", bytes[size_t(kind)])
          .endObject();
    out += w.endObject().text() + "\n";
    return;
  }
  int64_t lookups = s.hits + s.misses;
  out += cat("cache     ", cache.path(), "\n");
  out += cat("look-ups  ", lookups, ": ", s.hits, " hits (", lookups ? s.hits * 100 / lookups : 0, " %), ", s.misses,
             " misses, ", s.corrupt, " corrupt\n");
  for (Kind kind : kAllKinds)
    out += cat(nameOf(kind), std::string(10 - nameOf(kind).size(), ' '), files[size_t(kind)], " files, ",
               formatBytes(bytes[size_t(kind)]), "\n");
  out += cat("stored    ", s.puts, ", evicted ", s.evicted, "\n");
  out += cat("saved     ", formatSeconds(double(s.savedMs)), " of compiling\n");
}

static void writeInfo(json::Writer &w, const Cache::Info &info) {
  w.beginObject().field("key", info.key.hex()).field("kind", nameOf(info.kind)).field("path", info.path);
  w.field("bytes", info.fileBytes).field("payload_bytes", info.payloadBytes).field("used", info.modifiedUnixSeconds);
  w.field("label", info.metadata.label).field("compile_ms", info.metadata.compileMs).field("damage", info.damage);
  w.key("components").beginObject();
  for (const Component &c : info.metadata.components)
    w.key(c.name).beginObject().field("digest", c.digest.hex()).field("text", c.text).endObject();
  w.endObject().endObject();
}

static void list(const Infos &infos, bool json, std::string &out) {
  if (json) {
    json::Writer w;
    w.beginArray();
    for (const Cache::Info &info : infos)
      writeInfo(w, info);
    out += w.endArray().text() + "\n";
    return;
  }
  for (const Cache::Info &info : infos)
    out += cat(info.key.shortHex(), "  ", nameOf(info.kind), std::string(9 - nameOf(info.kind).size(), ' '),
               formatTime(info.modifiedUnixSeconds), "  ", formatBytes(info.fileBytes), "  ", info.metadata.label,
               info.damage.empty() ? "" : "  DAMAGED: " + info.damage, "\n");
}

static void show(const Cache::Info &info, bool json, std::string &out) {
  if (json) {
    json::Writer w;
    writeInfo(w, info);
    out += w.text() + "\n";
    return;
  }
  out += cat("key       ", info.key.hex(), "\nkind      ", nameOf(info.kind), "\nfile      ", info.path, "\nsize      ",
             formatBytes(info.fileBytes), "\nlast used ", formatTime(info.modifiedUnixSeconds), " UTC\n");
  if (!info.damage.empty())
    out += cat("damage    ", info.damage, "\n");
  out += cat("label     ", info.metadata.label, "\ncompile   ", formatSeconds(info.metadata.compileMs), "\n");
  for (const Component &c : info.metadata.components)
    out += cat("  ", c.name, std::string(c.name.size() < 20 ? 20 - c.name.size() : 1, ' '), c.digest.shortHex(), "  ",
               c.text, "\n");
}

/// The one entry whose key starts with `prefix`.
static Expected<Cache::Info> pick(const Infos &infos, const std::string &prefix) {
  if (prefix.size() < 4)
    return Status::error(
        StatusCode::Usage,
        cat("cache: key '", prefix, "' is too short (found ", prefix.size(), " digits, expected at least 4)"),
        "`cache list` shows the keys");
  const Cache::Info *found = nullptr;
  for (const Cache::Info &info : infos) {
    if (!info.key.hex().starts_with(prefix))
      continue;
    if (found)
      return Status::error(StatusCode::Usage, cat("cache: several keys start with '", prefix, "'"), "give more digits");
    found = &info;
  }
  if (!found)
    return Status::error(StatusCode::Usage, cat("cache: no key starts with '", prefix, "'"),
                         "`cache list` shows the keys");
  return *found;
}

/// Nearest other program: explain() with the entry's own components would find the entry itself.
static void explainEntry(const Cache::Info &asked, const Infos &infos, bool json, std::string &out) {
  const Cache::Info *best = nullptr;
  std::vector<std::string> bestNames;
  for (const Cache::Info &other : infos) {
    if (other.kind != Kind::Program || other.key == asked.key || !other.damage.empty())
      continue;
    std::vector<std::string> names;
    for (const Component &c : asked.metadata.components) {
      bool same = std::any_of(other.metadata.components.begin(), other.metadata.components.end(),
                              [&](const Component &o) { return o.name == c.name && o.digest == c.digest; });
      if (!same)
        names.push_back(c.name);
    }
    if (best && names.size() >= bestNames.size())
      continue;
    best = &other;
    bestNames = std::move(names);
  }
  if (json) {
    json::Writer w;
    w.beginObject().field("key", asked.key.hex()).field("nearest", best ? best->key.hex() : std::string());
    w.key("differs_in").beginArray();
    for (const std::string &name : bestNames)
      w.value(name);
    out += w.endArray().endObject().text() + "\n";
    return;
  }
  out += best ? cat(asked.key.shortHex(), ": nearest entry ", best->key.shortHex(), " (", best->metadata.label,
                    ") differs in ", join(bestNames, ", "), "\n")
              : cat(asked.key.shortHex(), ": the cache holds no other program\n");
}

static Status verify(Cache &cache, bool json, std::string &out) {
  Infos infos = cache.list(true), bad;
  std::copy_if(infos.begin(), infos.end(), std::back_inserter(bad), [](const auto &i) { return !i.damage.empty(); });
  for (const Cache::Info &info : bad)
    cache.quarantine(info);
  if (json)
    list(bad, true, out);
  else
    list(bad, false, out), out += cat(infos.size(), " entries checked, ", bad.size(), " damaged\n");
  if (bad.empty())
    return {};
  return Status::error(StatusCode::Failed, cat("cache: ", bad.size(), " of ", infos.size(), " entries are damaged"),
                       "they were moved to " + cache.path() + "/q and will be compiled again");
}

static void report(const char *verb, const Cache::Pruned &done, bool json, std::string &out) {
  if (!json) {
    out +=
        cat(verb, ' ', done.files, " files, ", formatBytes(done.bytes), "; ", formatBytes(done.leftBytes), " left\n");
    return;
  }
  json::Writer w;
  w.beginObject().field("files", done.files).field("bytes", done.bytes).field("left_bytes", done.leftBytes);
  out += w.endObject().text() + "\n";
}

Status runCommand(const CommandOptions &options, std::string &out) {
  if (std::find(std::begin(kVerbs), std::end(kVerbs), options.verb) == std::end(kVerbs))
    return Status::error(StatusCode::Usage, cat("cache: unknown verb '", options.verb, "'"),
                         "verbs: " + join(kVerbs, ", "));
  bool writes = options.verb == "verify" || options.verb == "prune" || options.verb == "clear";
  std::string directory = options.directory.empty() ? defaultDirectory() : options.directory;
  // Looking must not write, nor make a folder that is not there.
  auto cache = Cache::open(directory, {.mode = writes ? Mode::ReadWrite : Mode::ReadOnly, .warn = {}});
  if (cache->mode() == Mode::Off)
    return Status::error(StatusCode::CacheMiss, "cache: cannot be used: " + cache->reason(),
                         "--cache-dir names another folder");
  if (writes && cache->mode() != Mode::ReadWrite)
    return Status::error(StatusCode::CacheMiss, "cache: " + cache->reason());

  if (options.verb == "stats")
    stats(*cache, options.json, out);
  else if (options.verb == "list")
    list(cache->list(false), options.json, out);
  else if (options.verb == "verify")
    return verify(*cache, options.json, out);
  else if (options.verb == "prune")
    report("removed", cache->prune(options.maxBytes), options.json, out);
  else if (options.verb == "clear")
    report("removed", cache->clear(), options.json, out);
  else {
    Infos infos = cache->list(false);
    Expected<Cache::Info> entry = pick(infos, options.key);
    if (!entry.ok())
      return entry.takeStatus();
    options.verb == "show" ? show(*entry, options.json, out) : explainEntry(*entry, infos, options.json, out);
  }
  return {};
}

} // namespace gaudi::cache
