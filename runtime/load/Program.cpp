//===- Program.cpp - verified metadata of an artefact ---------------------===//
#include "runtime/load/Program.h"

#include "gaudi/Tensor.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"
#include "runtime/load/PackCheck.h"

#include <algorithm>
#include <vector>

namespace gaudi {

namespace {

template <typename T> using TableVector = flatbuffers::Vector<flatbuffers::Offset<T>>;

Status bad(std::string what) {
  return Status::error(StatusCode::BadArtifact, "program invalid: " + std::move(what),
                       "the file is corrupt; compile the model again");
}

Status checkUnique(std::vector<std::string_view> names, const char *what) {
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  return twice == names.end() ? Status() : bad(cat("two ", what, "s are called '", *twice, "'"));
}

/// The verifier of flatbuffers 2.0.8 checks the alignment of a vector's length (4 bytes), not that of its elements.
template <typename Vector> bool aligned(const Vector *vector) {
  constexpr uintptr_t elementAlign = 8; // of every struct in plan.fbs, and of int64
  // flatbuffers aligns no elements to nothing: the list of a scalar's dims may start anywhere.
  return !vector || vector->size() == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % elementAlign == 0;
}

/// Checks one entry against the program; sizes of tensors are computed overflow-safe.
class EntryChecker {
public:
  EntryChecker(const schema::Program &program, const schema::Entry &entry) : program(program), entry(entry) {}

  Status run() {
    if (!entry.name() || !entry.inputs() || !entry.outputs() || !entry.buffers() || !entry.launches() ||
        !entry.args() || !entry.memory())
      return bad("an entry point is incomplete");
    if (!aligned(entry.buffers()) || !aligned(entry.launches()))
      return bad("a list is not aligned");
    GAUDI_TRY(checkTensors(*entry.inputs(), "input", inputBytes));
    GAUDI_TRY(checkTensors(*entry.outputs(), "output", outputBytes));
    GAUDI_TRY(checkMemory());
    for (const schema::Buffer *buffer : *entry.buffers())
      GAUDI_TRY(checkBuffer(*buffer));
    for (const schema::Launch *launch : *entry.launches())
      GAUDI_TRY(checkLaunch(*launch));
    for (uint32_t id : *entry.args())
      if (id >= entry.buffers()->size())
        return bad(cat("argument refers to buffer ", id, " of ", entry.buffers()->size()));
    return {};
  }

private:
  static Status checkTensors(const TableVector<schema::TensorInfo> &infos, const char *what,
                             std::vector<uint64_t> &bytes) {
    std::vector<std::string_view> names;
    for (const schema::TensorInfo *info : infos) {
      if (!info->name() || !info->shape() || !aligned(info->shape()) ||
          info->dtype() > static_cast<uint8_t>(DType::Bool))
        return bad(cat("an ", what, " of the signature is incomplete"));
      uint64_t size;
      if (!checkedElementCount({info->shape()->data(), info->shape()->size()}, size) ||
          !checkedMul(size, sizeOf(static_cast<DType>(info->dtype())), size))
        return bad(cat(what, " '", info->name()->string_view(), "' has a bad shape"));
      bytes.push_back(size);
      names.push_back(info->name()->string_view());
    }
    return checkUnique(std::move(names), what);
  }

  Status checkMemory() const {
    constexpr uint64_t mostSlab = uint64_t(1) << 46, mostScratch = uint64_t(1) << 34; // address space, and sanity
    if (entry.memory()->slab() > mostSlab || entry.memory()->scratch_per_worker() > mostScratch)
      return bad("memory plan is larger than any machine");
    if (entry.memory()->live_at_peak())
      for (const schema::LiveBuffer *live : *entry.memory()->live_at_peak())
        if (!live->name())
          return bad("memory plan is incomplete");
    return {};
  }

  /// Bytes of the memory that a buffer lies in; false if there is none.
  bool placeBytes(const schema::Buffer &buffer, uint64_t &total) const {
    auto indexed = [&](const std::vector<uint64_t> &sizes) {
      total = buffer.index() < sizes.size() ? sizes[buffer.index()] : 0;
      return buffer.index() < sizes.size();
    };
    switch (buffer.place()) {
    case schema::Place::Input:
      return indexed(inputBytes);
    case schema::Place::Output:
      return indexed(outputBytes);
    case schema::Place::Slab:
      total = entry.memory()->slab();
      return true;
    case schema::Place::RoData:
      total = program.rodata_size();
      return true;
    case schema::Place::Weights:
      total = program.weights_size();
      return true;
    }
    return false;
  }

  Status checkBuffer(const schema::Buffer &buffer) const {
    uint64_t total = 0;
    if (!placeBytes(buffer, total))
      return bad("a buffer is in an unknown place");
    if (!insideRange(buffer.offset(), buffer.size(), total))
      return bad(cat("a buffer of ", buffer.size(), " bytes at ", buffer.offset(), " leaves its memory of ", total));
    return {};
  }

  Status checkLaunch(const schema::Launch &launch) const {
    if (launch.kernel() >= program.kernels()->size())
      return bad(cat("launch of kernel ", launch.kernel(), " of ", program.kernels()->size()));
    if (launch.info() >= program.infos()->size() ||
        !insideRange(launch.arg_begin(), launch.arg_count(), entry.args()->size()))
      return bad("a launch refers to something that is not there");
    // Workers add chunks to an int64 past the end of the grid: 2^48 leaves room for 2^14 of them.
    constexpr uint64_t most = uint64_t(1) << 48;
    if (launch.chunk() == 0 || launch.grid() > most || launch.chunk() > most)
      return bad(cat("a launch has grid ", launch.grid(), " in chunks of ", launch.chunk()));
    if (program.kernels()->Get(launch.kernel())->scratch() > entry.memory()->scratch_per_worker())
      return bad("a kernel needs more scratch than is planned");
    return {};
  }

  const schema::Program &program;
  const schema::Entry &entry;
  std::vector<uint64_t> inputBytes, outputBytes;
};

Status checkKernels(const schema::Program &program) {
  std::vector<std::string_view> symbols;
  for (const schema::Kernel *kernel : *program.kernels()) {
    if (!kernel->symbol() || kernel->symbol()->size() == 0)
      return bad("a kernel has no symbol");
    symbols.push_back(kernel->symbol()->string_view());
  }
  return checkUnique(std::move(symbols), "kernel");
}

Status checkPack(const schema::Program &program) {
  if (!aligned(program.pack()))
    return bad("a list is not aligned");
  std::vector<pack::SourceShape> shapes;
  for (uint32_t i = 0; program.sources() && i < program.sources()->size(); ++i) {
    const schema::Source &source = *program.sources()->Get(i);
    if (!aligned(source.shape()))
      return bad("a list is not aligned");
    shapes.push_back({source.dtype(), source.length()});
  }
  for (uint32_t i = 0; program.pack() && i < program.pack()->size(); ++i)
    if (Status status = pack::checkStep(*program.pack()->Get(i), shapes, program.weights_size()); !status.ok())
      return bad(cat("pack step ", i, ": ", status.message()));
  return {};
}

Status checkSegments(const schema::Program &program, const gdx::Container &container) {
  auto sizeOfSegment = [&](gdx::SegmentKind kind) {
    const gdx::Segment *segment = container.find(kind);
    return segment ? segment->storedSize : 0;
  };
  if (sizeOfSegment(gdx::SegmentKind::RoData) != program.rodata_size())
    return bad("rodata segment has the wrong size");
  if (container.find(gdx::SegmentKind::Weights) && sizeOfSegment(gdx::SegmentKind::Weights) != program.weights_size())
    return bad("weights segment has the wrong size");
  if (program.kernels()->size() && !container.find(gdx::SegmentKind::Code))
    return bad("there are kernels but no code");
  return {};
}

Status checkProgram(const schema::Program &program, const gdx::Container &container) {
  if (!program.target() || !program.target()->device() || !program.kernels() || !program.infos() ||
      !program.entries() || program.entries()->size() == 0)
    return bad("metadata is incomplete");
  GAUDI_TRY(checkKernels(program));
  GAUDI_TRY(checkSegments(program, container));
  for (const schema::LaunchInfo *info : *program.infos())
    if (!info->name())
      return bad("a launch has no name");
  for (const schema::Entry *entry : *program.entries())
    GAUDI_TRY(EntryChecker(program, *entry).run());
  return checkPack(program);
}

} // namespace

Expected<const schema::Program *> verifiedProgram(const gdx::Container &container) {
  const auto *data = reinterpret_cast<const uint8_t *>(container.metadata.data());
  flatbuffers::Verifier verifier(data, container.metadata.size());
  if (container.metadata.size() < 8 || !schema::VerifyProgramBuffer(verifier))
    return bad("metadata is not a program");
  const schema::Program *program = schema::GetProgram(data);
  GAUDI_TRY(checkProgram(*program, container));
  return program;
}

std::vector<std::string> targetFeatures(const schema::Program &program) {
  std::vector<std::string> features;
  if (program.target()->features())
    for (const flatbuffers::String *feature : *program.target()->features())
      features.push_back(feature->str());
  return features;
}

std::string targetText(const schema::Program &program) {
  const schema::Target &target = *program.target();
  std::string text = target.device()->str();
  if (target.cpu() && target.cpu()->size())
    text += ' ' + target.cpu()->str();
  std::string features = join(targetFeatures(program), ",");
  return features.empty() ? text : text + ' ' + features;
}

} // namespace gaudi
