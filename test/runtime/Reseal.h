//===- Reseal.h - digests of tampered artefacts -----------------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <vector>

namespace gaudi::test {

/// Recomputes the root digest of a tampered artefact (at least a header long), so that a test reaches the checks behind
/// it.
void reseal(std::vector<std::byte> &file);

} // namespace gaudi::test
