//===- Reseal.cpp - digests of tampered artefacts -------------------------===//
#include "Reseal.h"

#include "runtime/base/SafeMath.h"
#include "runtime/load/Container.h"

#include <cstring>

namespace gaudi::test {

void reseal(std::vector<std::byte> &file) {
  gdx::Header header;
  std::memcpy(&header, file.data(), sizeof header);
  std::span<const std::byte> all(file);
  auto range = [&](uint64_t offset, uint64_t size) {
    return insideRange(offset, size, all.size()) ? all.subspan(offset, size) : all.first(0);
  };
  Digest128 digest = gdx::rootDigest(header, range(header.metadataOffset, header.metadataSize),
                                     range(header.tableOffset, header.segmentCount * sizeof(gdx::Segment)));
  std::memcpy(file.data() + offsetof(gdx::Header, rootDigest), digest.bytes.data(), 16);
}

} // namespace gaudi::test
