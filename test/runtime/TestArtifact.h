//===- TestArtifact.h - a small artefact made without the compiler -*- C++ -*-===//
//
// y = gather(x * W + bias, ids): x f32[4,32], ids i64[4], y f32[4,48]; W f32[32,48] in panels of 16, bias in rodata.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Reseal.h"

#include "lib/Artifact/Writer.h"

#include <string>
#include <vector>

namespace gaudi::test {

struct TestArtifact {
  schema::ProgramT program;
  std::vector<char> code, rodata;
  std::vector<float> weights; ///< W, row-major
  std::vector<pack::Source> sources;

  ArtifactParts parts(bool embedWeights = true) { return {&program, code, rodata, embedWeights ? &sources : nullptr}; }
};

TestArtifact makeTestArtifact();

/// What the artefact computes.
std::vector<float> expectedOutput(const TestArtifact &artifact, const std::vector<float> &x,
                                  const std::vector<int64_t> &ids);

/// 128 deterministic input values.
std::vector<float> testInput();

/// A path in the test's own temporary folder, which exists and is removed at exit.
std::string temporaryPath(const std::string &name);

std::vector<std::byte> readFile(const std::string &path);
void writeFile(const std::string &path, std::span<const std::byte> bytes);

} // namespace gaudi::test
