//===- Clock.h - monotonic time ---------------------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <ctime>

namespace gaudi {

/// Nanoseconds of the monotonic clock: never goes backwards, comparable between threads and processes of one machine.
inline uint64_t nowNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

} // namespace gaudi
