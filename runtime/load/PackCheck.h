//===- PackCheck.h - are pack steps sound? ----------------------*- C++ -*-===//
#pragma once

#include "runtime/load/WeightPack.h"

namespace gaudi::pack {

/// What the checks need to know of a source tensor.
struct SourceShape {
  uint8_t dtype; ///< as stored, unchecked
  uint64_t sizeBytes;
};

/// Checks one step by itself: types, conversion, panel geometry, bounds in source and destination.
Status checkStep(const schema::PackStep &step, std::span<const SourceShape> sources, uint64_t totalBytes);

/// Checks that sorted steps (by destination, then first column) do not overlap.
Status checkDisjoint(const schema::PackStep &before, const schema::PackStep &after);

/// Destination order.
bool stepBefore(const schema::PackStep &a, const schema::PackStep &b);

} // namespace gaudi::pack
