//===- Cache.h - the compile cache's store ----------------------*- C++ -*-===//
//
// A directory of self-verifying files under 32-byte keys, shared by any number of processes and threads:
//
//   v1/CACHEDIR.TAG   e/ab/<62 hex>.gdx  programs        t/  unfinished files    q/  corrupt entries, 8 kept
//                     k/ab/<62 hex>.obj  kernel objects  l/  <key>.lock          s/  statistics 00..15
//                     w/ab/<62 hex>.gdw  packed weights  evict.lock
//
// Rules it lives by: a cache failure never fails a compile (warn once, go on without); a reader never sees half a file
// (temp + rename) and never uses a damaged one (digest, quarantine); N processes that need one key produce it once
// (flock, which the kernel frees when its holder dies). What is in a key is the compiler's business (DESIGN 12); the
// store only sees digests. Every method is thread-safe.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gaudi/Status.h"

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gaudi::cache {

/// Name of an entry: a digest of everything its content depends on. Opaque to the store.
struct Key {
  std::array<uint8_t, 32> bytes{};

  /// 64 lower-case hex digits.
  std::string hex() const;
  /// The first 8 hex digits: what messages show.
  std::string shortHex() const { return hex().substr(0, 8); }
  /// False unless `text` is exactly 64 hex digits.
  static bool parse(std::string_view text, Key &out);
  auto operator<=>(const Key &) const = default;
};

/// One named field of a key with the digest of its value, kept in the entry so that a miss can be explained.
struct Component {
  std::string name; ///< "target-features"
  Key digest;
  std::string text; ///< the value itself when short enough to show ("avx2,fma"), else empty
};

/// What `--cache=` says. Only rw, refresh and verify write.
enum class Mode {
  Off,       ///< no look-ups, nothing stored
  ReadOnly,  ///< "ro": look-ups only; no statistics, no quarantine
  ReadWrite, ///< "rw"
  Refresh,   ///< every look-up misses, results replace what is there
  Require,   ///< as ro, and a miss is an error (exit 9): "no recompilation" in CI
  Verify,    ///< compile anyway and compare bytes with the entry: the determinism test
};

/// "off", "ro", "rw", "refresh", "require", "verify".
std::string_view nameOf(Mode mode);
/// False if unknown.
bool parseMode(std::string_view name, Mode &out);

/// Kinds share keys' format, eviction and verification; they differ in folder, durability and who checks the payload.
enum class Kind : uint32_t {
  Program = 0, ///< .gdx artefact; digest checked at every look-up, synced to disk
  Kernel = 1,  ///< object code of one kernel; digest checked, not synced (cheap to remake, thousands of them)
  Weights = 2, ///< packed weights; digest checked when the file is new or has changed (Verified.cpp), synced
};
inline constexpr Kind kAllKinds[] = {Kind::Program, Kind::Kernel, Kind::Weights};
/// "program", "kernel", "weights".
std::string_view nameOf(Kind kind);

struct Options {
  Mode mode = Mode::ReadWrite;
  uint64_t maxBytes = 5ull << 30;
  uint64_t maxFiles = 100'000;
  unsigned lockTimeoutMs = 600'000; ///< then the caller produces the entry privately
  /// Told of the first failure of the store (and of every entry found corrupt); null = silent.
  std::function<void(const std::string &)> warn = {};
  /// Tests only: take the file system for a network one, on which flock cannot be trusted.
  bool assumeNetworkFileSystem = false;
};

/// What a program's entry says about itself.
struct Metadata {
  double compileMs = 0;                   ///< what a hit saves
  std::string label = {};                 ///< for people: "bert.onnx cpu"
  std::vector<Component> components = {}; ///< at most 64
};

/// A verified entry. The payload is the first `payloadBytes` of the file at `path`; the cache's record follows it.
struct Hit {
  std::string path;
  uint64_t payloadBytes = 0;
  double savedMs = 0;
};

/// Counters of a cache directory, summed over all processes since it was made or cleared.
struct Statistics {
  int64_t hits = 0, misses = 0, corrupt = 0, puts = 0, evicted = 0;
  int64_t storedBytes = 0; ///< estimate; exact after an eviction or `prune`
  int64_t savedMs = 0;
  int64_t storedFiles = 0;
};

/// Exclusive right to produce one key, until destroyed. Freed by the kernel if the process dies.
class KeyLock {
public:
  KeyLock() = default;
  KeyLock(KeyLock &&) noexcept;
  KeyLock &operator=(KeyLock &&) noexcept;
  ~KeyLock();
  /// False after a time-out, on network file systems and in modes that never write: produce without the lock.
  bool held() const { return fd >= 0; }

private:
  friend class Cache;
  int fd = -1;
  int dirFd = -1;   ///< the Cache's: a lock must not outlive it
  std::string name; ///< relative to dirFd
};

/// Writes a payload to the file at `path`, which exists and is empty. May be called on another thread's behalf.
using Writer = std::function<Status(const std::string &path)>;

/// What a compile made, ready to be written.
struct Product {
  Writer write;
  double compileMs = 0;
};

/// How resolve() came by an entry.
struct Resolution {
  std::optional<Hit> entry; ///< empty = the store could not take it: use `product.write` on a file of your own
  Product product;          ///< set unless `hit`
  bool hit = false;
};

/// The default folder: $GAUDI_CACHE_DIR, $XDG_CACHE_HOME/gaudi or $HOME/.cache/gaudi; "" when none is set (or
/// relative).
std::string defaultDirectory();

class Cache {
public:
  /// Opens (and for writing modes makes) `directory`/v1. Never fails: an unusable folder gives a cache whose mode() is
  /// Off, a read-only one gives ReadOnly (Require stays Require); reason() says why.
  static std::unique_ptr<Cache> open(const std::string &directory, Options options);
  ~Cache();

  Mode mode() const;
  /// Why mode() is not what was asked for; empty if it is.
  const std::string &reason() const;
  /// DIR/v1, for messages.
  const std::string &path() const;
  /// Whether single flight works here (no on network file systems).
  bool hasLocks() const;

  /// The entry, verified; empty on a miss. A damaged entry is moved to q/, counted and reported as a miss.
  std::optional<Hit> lookup(Kind kind, const Key &key);

  /// Waits until no other process produces `key`. Look up again once it returns: the holder has probably published.
  KeyLock lock(const Key &key);

  /// Stores what `write` writes. Empty when the store could not take it (warned once; the caller goes on uncached) or
  /// the mode does not write. Error only in mode Verify: the bytes differ from the entry's (Failed).
  Expected<std::optional<Hit>> publish(Kind kind, const Key &key, const Metadata &metadata, const Writer &write);

  /// The whole protocol: look up, lock, look up again, produce, publish. Errors: those of `produce`; CacheMiss in mode
  /// Require, with the explanation as hint; Failed in mode Verify.
  Expected<Resolution> resolve(Kind kind, const Key &key, const Metadata &metadata,
                               const std::function<Expected<Product>()> &produce);

  /// Level 2: small values held in memory. Same guarantees; about 50 us each.
  std::optional<std::string> getBlob(const Key &key);
  void putBlob(const Key &key, std::string_view bytes);

  /// Why `components` has no entry: names what differs from the nearest one. One line, no final period.
  std::string explain(const std::vector<Component> &components);

  /// Sums the shards, including what this process has not flushed yet.
  Statistics statistics();

  /// One entry as `list`, `show` and `verify` see it.
  struct Info {
    Kind kind;
    Key key;
    std::string path;
    uint64_t payloadBytes = 0, fileBytes = 0;
    int64_t modifiedUnixSeconds = 0;
    Metadata metadata;
    std::string damage; ///< why it cannot be used; empty = sound
  };
  /// Every entry, newest first. `verifyPayload` reads all bytes; without it damage is found in the record only.
  std::vector<Info> list(bool verifyPayload);
  /// Moves an entry that list() found damaged to q/.
  void quarantine(const Info &entry);

  struct Pruned {
    uint64_t files = 0, bytes = 0, leftBytes = 0;
  };
  /// Removes the least recently used entries until at most `maxBytes` are left, and abandoned temporary files.
  Pruned prune(uint64_t maxBytes);
  /// Removes every entry, the quarantine and the statistics.
  Pruned clear();

private:
  Cache();
  struct Impl; // CacheImpl.h
  std::unique_ptr<Impl> impl;
};

} // namespace gaudi::cache
