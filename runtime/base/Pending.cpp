//===- Pending.cpp - files that an interrupt must not leave behind --------===//
#include "runtime/base/Pending.h"

#include "runtime/base/Clock.h"

#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sys/random.h>
#include <unistd.h>
#include <utility>

namespace gaudi {

namespace {
constexpr int slotCount = 16;
/// Plain memory that a handler may read at any moment; `state` says whether it may.
enum State : int { Free, Writing, Set };
std::atomic<int> state[slotCount];
char paths[slotCount][PATH_MAX];
} // namespace

Pending::Pending(const std::string &path) {
  if (path.size() >= sizeof paths[0])
    return;
  for (int i = 0; i < slotCount && slot < 0; ++i) {
    int expected = Free;
    if (!state[i].compare_exchange_strong(expected, Writing))
      continue;
    std::memcpy(paths[i], path.c_str(), path.size() + 1);
    state[i] = Set;
    slot = i;
  }
}

Pending &Pending::operator=(Pending &&other) noexcept {
  std::swap(slot, other.slot);
  return *this;
}

void Pending::forget() {
  if (slot >= 0)
    state[slot] = Free;
  slot = -1;
}

std::string uniqueName(const std::string &prefix, Pending &pending) {
  uint64_t random = 0;
  if (::getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) // early in the machine's life
    random = static_cast<uint64_t>(::getpid()) << 32 ^ static_cast<uint64_t>(nowNs());
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(random));
  std::string name = prefix + digits;
  pending = Pending(name);
  return name;
}

void removePending() {
  for (auto *remove : {::unlink, ::rmdir})
    for (int i = 0; i < slotCount; ++i)
      if (state[i] == Set)
        remove(paths[i]);
}

} // namespace gaudi
