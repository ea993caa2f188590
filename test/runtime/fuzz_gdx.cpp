//===- fuzz_gdx.cpp - libFuzzer harness of the .gdx loader ----------------===//
//
// Everything up to, but without, loading the code. The root digest is repaired first: otherwise no mutation would get
// past it.
//
//===----------------------------------------------------------------------===//
#include "Reseal.h"

#include "runtime/exec/Describe.h"
#include "runtime/load/Program.h"

using namespace gaudi;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span<const std::byte> input(reinterpret_cast<const std::byte *>(data), size);
  std::vector<std::byte> file(input.begin(), input.end());
  if (file.size() >= sizeof(gdx::Header))
    test::reseal(file);
  Expected<gdx::Container> container = gdx::parseContainer(file);
  if (!container.ok())
    return 0;
  Expected<const schema::Program *> program = verifiedProgram(*container);
  if (program.ok())
    describe(**program);
  for (const gdx::Segment &segment : container->segments)
    (void)gdx::verifySegment(*container, segment);
  return 0;
}
