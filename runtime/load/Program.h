//===- Program.h - verified metadata of an artefact -------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "runtime/load/Container.h"
#include "runtime/schema/plan_generated.h"

namespace gaudi {

/// The program of a container after the flatbuffers verifier and every check that execution relies on: ids in range,
/// buffers inside their places, launches consistent, names unique, pack steps sound. After it, no required field is
/// null. Points into the container's metadata. Errors: BadArtifact.
Expected<const schema::Program *> verifiedProgram(const gdx::Container &container);

/// Features of Target, sorted as stored.
std::vector<std::string> targetFeatures(const schema::Program &program);

/// "cpu sapphirerapids avx2,fma".
std::string targetText(const schema::Program &program);

} // namespace gaudi
