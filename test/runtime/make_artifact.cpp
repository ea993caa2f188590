//===- make_artifact.cpp - writes the test artefact for examples and fuzzing ===//
#include "TestArtifact.h"

#include <cstdio>

int main(int argc, char **argv) {
  gaudi::test::TestArtifact artifact = gaudi::test::makeTestArtifact();
  if (argc == 3) // any second argument: small, without code and weights, as a seed for the fuzzer
    artifact.code.assign(64, 'x');
  gaudi::Status status = gaudi::writeArtifact(argv[1], artifact.parts(argc != 3));
  if (!status.ok())
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return static_cast<int>(status.code());
}
