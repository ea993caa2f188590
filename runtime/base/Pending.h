//===- Pending.h - files that an interrupt must not leave behind -*- C++ -*-===//
#pragma once

#include <string>

namespace gaudi {

/// While it lives, removePending() removes this file or (empty by then) folder. Thread-safe. Only the first 16 at a
/// time are kept track of: more than any tool has.
class Pending {
public:
  Pending() = default;
  explicit Pending(const std::string &path);
  Pending(Pending &&other) noexcept : slot(other.slot) { other.slot = -1; }
  Pending &operator=(Pending &&other) noexcept;
  ~Pending() { forget(); }

  /// It has its final name now, or is somebody else's.
  void forget();

private:
  int slot = -1;
};

/// `prefix` and 16 random digits, which `pending` is told of before anything of that name exists: made the other way
/// round, an interrupt in between would leave it.
std::string uniqueName(const std::string &prefix, Pending &pending);

/// For signal handlers; async-signal-safe. Files go before folders.
void removePending();

} // namespace gaudi
