//===- CacheImpl.h - state of an open cache ---------------------*- C++ -*-===//
#pragma once

#include "runtime/cache/Cache.h"
#include "runtime/cache/EntryFormat.h"
#include "runtime/cache/Files.h"
#include "runtime/cache/Statistics.h"

#include <atomic>

namespace gaudi::cache {

struct Cache::Impl {
  Options options;
  std::string root;   ///< DIR/v1
  std::string reason; ///< why options.mode is not what was asked for
  FileDescriptor dir; ///< of root; everything is relative to it
  bool locks = true;
  StatisticsShards shards;
  std::atomic<bool> warned = false;

  bool reads() const { return dir.valid() && options.mode != Mode::Off; }
  bool writes() const {
    return dir.valid() &&
           (options.mode == Mode::ReadWrite || options.mode == Mode::Refresh || options.mode == Mode::Verify);
  }
  /// The first failure only: one broken disk must not give a message per kernel.
  void warnOnce(const std::string &message);
  void warn(const std::string &message);

  /// Moves `name` to q/ if it still is the file behind `fd`, and deletes all but the 8 newest there.
  void quarantine(int fd, const std::string &name);

  /// Whether the weights entry behind `fd` was read through before and has not changed since.
  bool isKnownSound(int fd, const Key &key) const;
  /// Waits a few ms if the file is so new that its time stamp does not tell it from a later state.
  void rememberSound(int fd, const Key &key);

  /// One file of e/, k/ or w/.
  struct File {
    Kind kind;
    std::string name; ///< relative to root
    uint64_t bytes;
    int64_t modified;
  };
  std::vector<File> scan() const;
  /// Unlinks the oldest of `files` until the caps given hold; never `keep`.
  Pruned evict(std::vector<File> files, uint64_t maxBytes, uint64_t maxFiles, const std::string &keep);
  /// After a put: evicts to 90 % if the caps are passed, in one process at a time.
  void enforceCaps(const std::string &keep);
  void sweepTemporaries();

  /// Temp file, payload, record, rename: returns "" or what went wrong. `sync` = survive a power loss.
  std::string store(Kind kind, const Key &key, const Metadata &metadata, const Writer &write, bool sync);
  std::string moveIntoPlace(int fd, const std::string &temporary, const std::string &name, bool sync);
};

/// "e/9f/3a...gdx".
std::string entryName(Kind kind, const Key &key);
/// Inverse of entryName; false for names we did not make.
bool parseEntryName(Kind kind, std::string_view name, Key &out);
/// "e", "k" or "w".
std::string folderOf(Kind kind);

} // namespace gaudi::cache
