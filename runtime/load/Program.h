//===- Program.h - verified metadata of an artefact -------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "runtime/load/Container.h"
#include "runtime/schema/plan_generated.h"

namespace gaudi {

/// The program of a container after the flatbuffers verifier and every check that execution relies on: ids in range,
/// buffers inside their places, launches consistent. Points into the container's bytes. Errors: BadArtifact.
Expected<const schema::Program *> verifiedProgram(const gdx::Container &container);

/// Refuses code for features this CPU lacks (BadArtifact, naming both sides).
Status checkTarget(const schema::Program &program);

/// "cpu sapphirerapids avx2,fma".
std::string targetText(const schema::Program &program);

} // namespace gaudi
