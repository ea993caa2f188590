//===- Program.cpp - verified metadata of an artefact ---------------------===//
#include "runtime/load/Program.h"

#include "gaudi/Tensor.h"
#include "runtime/base/CpuFeatures.h"
#include "runtime/base/SafeMath.h"

#include <vector>

using namespace gaudi;

static Status bad(std::string what) {
  return Status::error(StatusCode::BadArtifact, "program invalid: " + std::move(what),
                       "the file is corrupt; compile the model again");
}

static std::string join(std::span<const std::string> words) {
  std::string text;
  for (const std::string &w : words)
    text += (text.empty() ? "" : ",") + w;
  return text;
}

static std::vector<std::string> featuresOf(const schema::Program &program) {
  std::vector<std::string> features;
  if (program.target() && program.target()->features())
    for (const auto *f : *program.target()->features())
      features.push_back(f->str());
  return features;
}

std::string gaudi::targetText(const schema::Program &program) {
  const schema::Target *t = program.target();
  std::string device = t->device()->str(), cpu = t->cpu() ? t->cpu()->str() : "";
  return device + (cpu.empty() ? "" : " " + cpu) + " " + join(featuresOf(program));
}

Status gaudi::checkTarget(const schema::Program &program) {
  std::vector<std::string> needed = featuresOf(program), host = hostCpuFeatures();
  std::vector<std::string> missing = missingFeatures(needed, host);
  if (missing.empty())
    return {};
  return Status::error(StatusCode::BadArtifact,
                       "needs " + join(missing) + "; this CPU has " + join(host),
                       "rebuild with --target-cpu=native on this machine, or with a common level such as x86-64-v3");
}

namespace {

/// Checks one entry against the program; sizes of tensors are computed overflow-safe.
class EntryChecker {
public:
  EntryChecker(const schema::Program &program, const schema::Entry &entry) : program(program), entry(entry) {}

  Status run() {
    if (!entry.name() || !entry.inputs() || !entry.outputs() || !entry.buffers() || !entry.launches() || !entry.args() ||
        !entry.memory())
      return bad("an entry point is incomplete");
    GAUDI_TRY(tensors(*entry.inputs(), inputBytes));
    GAUDI_TRY(tensors(*entry.outputs(), outputBytes));
    for (const schema::Buffer *b : *entry.buffers())
      GAUDI_TRY(buffer(*b));
    for (const schema::Launch *l : *entry.launches())
      GAUDI_TRY(launch(*l));
    for (uint32_t id : *entry.args())
      if (id >= entry.buffers()->size())
        return bad("argument refers to buffer " + std::to_string(id) + " of " + std::to_string(entry.buffers()->size()));
    return {};
  }

private:
  using Infos = flatbuffers::Vector<flatbuffers::Offset<schema::TensorInfo>>;

  static Status tensors(const Infos &infos, std::vector<uint64_t> &bytes) {
    for (const schema::TensorInfo *info : infos) {
      constexpr uint8_t lastDType = static_cast<uint8_t>(DType::Bool);
      if (!info->name() || !info->shape() || info->dtype() > lastDType)
        return bad("a tensor of the signature is incomplete");
      uint64_t size = sizeOf(static_cast<DType>(info->dtype()));
      for (int64_t d : *info->shape())
        if (d < 0 || !checkedMul(size, static_cast<uint64_t>(d), size))
          return bad("tensor '" + info->name()->str() + "' has a bad shape");
      bytes.push_back(size);
    }
    return {};
  }

  Status buffer(const schema::Buffer &b) const {
    uint64_t total = 0;
    bool known = true;
    switch (b.place()) {
    case schema::Place::Input: known = b.index() < inputBytes.size(); total = known ? inputBytes[b.index()] : 0; break;
    case schema::Place::Output: known = b.index() < outputBytes.size(); total = known ? outputBytes[b.index()] : 0; break;
    case schema::Place::Slab: total = entry.memory()->slab(); break;
    case schema::Place::RoData: total = program.rodata_size(); break;
    case schema::Place::Weights: total = program.weights_size(); break;
    default: known = false;
    }
    if (!known || !insideRange(b.offset(), b.size(), total))
      return bad("a buffer of " + std::to_string(b.size()) + " bytes lies outside of its memory");
    return {};
  }

  Status launch(const schema::Launch &l) const {
    if (l.kernel() >= program.kernels()->size() || l.info() >= program.infos()->size() ||
        !insideRange(l.arg_begin(), l.arg_count(), entry.args()->size()))
      return bad("a launch refers to something that is not there");
    constexpr uint64_t most = uint64_t(1) << 62; // grids are walked as int64 in steps of chunk
    if (l.chunk() == 0 || l.grid() > most || l.chunk() > most)
      return bad("a launch has a bad grid");
    if ((*program.kernels())[l.kernel()]->scratch() > entry.memory()->scratch_per_worker())
      return bad("a kernel needs more scratch than is planned");
    return {};
  }

  const schema::Program &program;
  const schema::Entry &entry;
  std::vector<uint64_t> inputBytes, outputBytes;
};

} // namespace

Expected<const schema::Program *> gaudi::verifiedProgram(const gdx::Container &container) {
  auto *data = reinterpret_cast<const uint8_t *>(container.metadata.data());
  flatbuffers::Verifier verifier(data, container.metadata.size());
  if (container.metadata.size() < 8 || !schema::VerifyProgramBuffer(verifier))
    return bad("metadata is not a program");
  const schema::Program *program = schema::GetProgram(data);
  if (!program->target() || !program->target()->device() || !program->kernels() || !program->infos() || !program->entries() ||
      program->entries()->size() == 0)
    return bad("metadata is incomplete");
  for (const schema::Kernel *k : *program->kernels())
    if (!k->symbol())
      return bad("a kernel has no symbol");
  for (const schema::Entry *e : *program->entries())
    GAUDI_TRY(EntryChecker(*program, *e).run());
  auto sizeOfSegment = [&](gdx::SegmentKind kind) {
    const gdx::Segment *s = container.find(kind);
    return s ? s->storedSize : 0;
  };
  if (sizeOfSegment(gdx::SegmentKind::RoData) != program->rodata_size())
    return bad("rodata segment has the wrong size");
  if (container.find(gdx::SegmentKind::Weights) && sizeOfSegment(gdx::SegmentKind::Weights) != program->weights_size())
    return bad("weights segment has the wrong size");
  return program;
}
