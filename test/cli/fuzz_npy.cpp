//===- fuzz_npy.cpp - libFuzzer harness of the data file readers ----------===//
#include "tools/gaudi-run/io/Npz.h"
#include "tools/gaudi-run/io/TensorProto.h"

using namespace gaudi;
using namespace gaudi::io;

/// The first byte chooses the format. Limits are small, so that a lie about sizes shows as an over-large allocation.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  Limits limits = {.maxBytes = 1 << 20};
  std::span<const std::byte> file = std::as_bytes(std::span(data + 1, size - 1));
  if (data[0] % 3 == 0) {
    (void)parseNpy(file, "f.npy", limits).ok();
  } else if (data[0] % 3 == 1) {
    (void)parseTensorProto(file, "f.pb", limits).ok();
  } else if (auto reader = NpzReader::parse(file, "f.npz", limits); reader.ok()) {
    for (const std::string &name : reader->names())
      (void)reader->read(name).ok();
  }
  return 0;
}
