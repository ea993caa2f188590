//===- Arguments.cpp - the pointers that launches get ---------------------===//
#include "runtime/exec/Arguments.h"

namespace gaudi {

ArgumentTable::ArgumentTable(const schema::Entry &entry, const EntryMemory &memory) {
  args.resize(entry.args()->size());
  for (uint32_t i = 0; i < args.size(); ++i)
    resolve(i, *entry.buffers()->Get(entry.args()->Get(i)), memory);
}

void ArgumentTable::resolve(uint32_t arg, const schema::Buffer &buffer, const EntryMemory &memory) {
  switch (buffer.place()) {
  case schema::Place::Input:
  case schema::Place::Output:
    patches.push_back({arg, buffer.place() == schema::Place::Output, buffer.index(), buffer.offset()});
    break;
  case schema::Place::Slab:
    args[arg] = memory.slab + buffer.offset();
    break;
  // Kernels only read constants (their pages are read-only); the ABI has one pointer type for all.
  case schema::Place::RoData:
    args[arg] = const_cast<std::byte *>(memory.rodata) + buffer.offset();
    break;
  case schema::Place::Weights:
    args[arg] = const_cast<std::byte *>(memory.weights) + buffer.offset();
    break;
  }
}

} // namespace gaudi
