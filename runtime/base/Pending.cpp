//===- Pending.cpp - files that an interrupt must not leave behind --------===//
#include "runtime/base/Pending.h"

#include <atomic>
#include <climits>
#include <cstring>
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

void removePending() {
  for (auto *remove : {::unlink, ::rmdir})
    for (int i = 0; i < slotCount; ++i)
      if (state[i] == Set)
        remove(paths[i]);
}

} // namespace gaudi
