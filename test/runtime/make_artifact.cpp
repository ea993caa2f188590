//===- make_artifact.cpp - writes the test artefact, sound or hostile -----===//
//
// make_artifact OUT.gdx [VARIANT]: for examples, as a seed for fuzzing, and for test/errors, which needs files that no
// compiler would write, with digests that hold.
//
//===----------------------------------------------------------------------===//
#include "TestArtifact.h"

#include "runtime/load/Container.h"

#include <cstdio>
#include <cstring>

using namespace gaudi;

/// Moves segment 1 onto segment 0.
static void overlapSegments(const std::string &path) {
  std::vector<std::byte> file = test::readFile(path);
  gdx::Header header;
  gdx::Segment segments[2];
  std::memcpy(&header, file.data(), sizeof header);
  std::memcpy(segments, file.data() + header.tableOffset, sizeof segments);
  segments[1].offset = segments[0].offset;
  std::memcpy(file.data() + header.tableOffset, segments, sizeof segments);
  test::reseal(file);
  test::writeFile(path, file);
}

int main(int argc, char **argv) {
  std::string path = argv[1], variant = argc > 2 ? argv[2] : "";
  test::TestArtifact artifact = test::makeTestArtifact();
  bool small = variant == "small"; // without code and weights, as a seed for the fuzzer
  if (small)
    artifact.code.assign(64, 'x');
  if (variant.starts_with("needs="))
    artifact.program.target->features = {variant.substr(6)};
  if (variant.starts_with("device="))
    artifact.program.target->device = variant.substr(7);
  for (int i = 0; variant == "tables" && i <= 1'000'000; ++i) { // one more than the verifier allows
    artifact.program.infos.push_back(std::make_unique<schema::LaunchInfoT>());
    artifact.program.infos.back()->name = "n";
  }
  Status status = writeArtifact(path, artifact.parts(!small));
  if (status.ok() && variant == "overlap")
    overlapSegments(path);
  if (!status.ok())
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return static_cast<int>(status.code());
}
