//===- Slab.h - the one allocation of a context -----------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace gaudi {

/// Page-aligned anonymous memory, zero until touched. Unmaps on destruction.
class Slab {
public:
  Slab() = default;
  Slab(Slab &&o) noexcept : base(std::exchange(o.base, nullptr)), bytes(std::exchange(o.bytes, 0)) {}
  Slab &operator=(Slab &&o) noexcept {
    std::swap(base, o.base);
    std::swap(bytes, o.bytes);
    return *this;
  }
  ~Slab();

  /// ResourceLimit if the system has no room.
  static Expected<Slab> create(uint64_t sizeBytes);
  std::byte *data() const { return base; }
  uint64_t sizeBytes() const { return bytes; }

private:
  std::byte *base = nullptr;
  uint64_t bytes = 0;
};

} // namespace gaudi
