//===- Executable.cpp - a loaded CPU artefact -----------------------------===//
#include "runtime/exec/Executable.h"

#include "runtime/base/CpuCount.h"
#include "runtime/exec/Context.h"

using namespace gaudi;

static TensorSpec specOf(const schema::TensorInfo &info) {
  TensorSpec spec;
  spec.name = info.name()->str();
  spec.dtype = static_cast<DType>(info.dtype());
  spec.shape.assign(info.shape()->begin(), info.shape()->end());
  return spec;
}

Expected<std::shared_ptr<Executable>> CpuExecutable::open(const std::string &path, const OpenOptions &options) {
  auto executable = std::make_shared<CpuExecutable>();
  if (Status s = executable->load(path, options); !s.ok())
    return std::move(s).annotate(path);
  return std::shared_ptr<Executable>(std::move(executable));
}

Status CpuExecutable::load(const std::string &path, const OpenOptions &options) {
  Expected<MappedFile> mapped = MappedFile::open(path, {.beneath = {}, .errorCode = StatusCode::BadArtifact});
  if (!mapped.ok())
    return mapped.takeStatus();
  file = mapped.take();
  Expected<gdx::Container> parsed = gdx::parseContainer(file.bytes());
  if (!parsed.ok())
    return parsed.takeStatus();
  container = parsed.take();
  Expected<const schema::Program *> program = verifiedProgram(container);
  if (!program.ok())
    return program.takeStatus();
  meta = *program;
  GAUDI_TRY(checkTarget(*meta));
  for (const gdx::Segment &s : container.segments)
    if (s.kind != gdx::SegmentKind::Weights || options.verify == VerifyLevel::Full)
      GAUDI_TRY(gdx::verifySegment(container, s));
  if (const gdx::Segment *s = container.find(gdx::SegmentKind::RoData))
    rodata = container.bytes(*s);
  GAUDI_TRY(loadWeights(options));
  GAUDI_TRY(loadCode());
  describe();
  return {};
}

Status CpuExecutable::loadWeights(const OpenOptions &options) {
  if (const gdx::Segment *s = container.find(gdx::SegmentKind::Weights)) {
    weights = container.bytes(*s);
    return {};
  }
  if (meta->weights_size() == 0)
    return {};
  if (options.weightsPath.empty())
    return Status::error(StatusCode::BadArtifact, "compiled without weights (" + std::to_string(meta->weights_size()) + " bytes needed)",
                         "give the packed weights, or run the .onnx through gaudi-run, which packs them");
  Expected<MappedFile> mapped = MappedFile::open(options.weightsPath, {.beneath = {}, .errorCode = StatusCode::BadArtifact});
  if (!mapped.ok())
    return mapped.takeStatus();
  weightsFile = mapped.take();
  if (weightsFile.bytes().size() < meta->weights_size())
    return Status::error(StatusCode::BadArtifact, options.weightsPath + ": packed weights are truncated (found " +
                             std::to_string(weightsFile.bytes().size()) + " bytes, expected " + std::to_string(meta->weights_size()) + ")");
  weights = weightsFile.bytes().first(meta->weights_size());
  if (options.verify == VerifyLevel::Full && meta->weights_digest() && meta->weights_digest()->size() &&
      toHex(xxh3(weights)) != meta->weights_digest()->str())
    return Status::error(StatusCode::BadArtifact, options.weightsPath + ": digest mismatch in the packed weights; file is corrupt");
  return {};
}

Status CpuExecutable::loadCode() {
  const gdx::Segment *segment = container.find(gdx::SegmentKind::Code);
  if (segment) {
    Expected<CodeObject> loaded = CodeObject::load(container.bytes(*segment));
    if (!loaded.ok())
      return loaded.takeStatus();
    code = loaded.take();
  }
  for (const schema::Kernel *k : *meta->kernels()) {
    functions.push_back(code.find(k->symbol()->str()));
    if (!functions.back())
      return Status::error(StatusCode::BadArtifact, "kernel '" + k->symbol()->str() + "' is not in the code segment");
  }
  return {};
}

void CpuExecutable::describe() {
  for (const schema::TensorInfo *info : *entry().inputs())
    inputSpecs.push_back(specOf(*info));
  for (const schema::TensorInfo *info : *entry().outputs())
    outputSpecs.push_back(specOf(*info));
  for (const schema::Launch *l : *entry().launches()) {
    const schema::LaunchInfo *info = meta->infos()->Get(l->info());
    kernelInfos.push_back({info->name() ? info->name()->str() : "", meta->kernels()->Get(l->kernel())->symbol()->str(),
                           info->flops(), info->bytes()});
  }
  const schema::MemoryPlan &plan = *entry().memory();
  report.weights = meta->weights_size();
  report.slab = plan.slab();
  report.scratchPerThread = plan.scratch_per_worker();
  report.lowerBound = plan.lower_bound();
  if (plan.live_at_peak())
    for (const schema::LiveBuffer *live : *plan.live_at_peak())
      report.liveAtPeak.push_back({live->name() ? live->name()->str() : "", live->size()});
  targetName = targetText(*meta);
}

const std::byte *CpuExecutable::base(schema::Place place) const {
  return place == schema::Place::Weights ? weights.data() : rodata.data();
}

Expected<std::unique_ptr<Context>> CpuExecutable::createContext(const ContextOptions &options) {
  unsigned threads = options.threads ? options.threads : usableCores();
  constexpr uint64_t align = 64;
  uint64_t slabBytes = (report.slab + align - 1) / align * align;
  uint64_t stride = (report.scratchPerThread + align - 1) / align * align;
  uint64_t total = slabBytes + stride * threads;
  if (options.memoryBudget && total + report.weights > options.memoryBudget)
    return Status::error(StatusCode::ResourceLimit,
                         "needs " + std::to_string((total + report.weights + (1 << 20) - 1) >> 20) + " MiB (weights " +
                             std::to_string(report.weights >> 20) + ", slab " + std::to_string(slabBytes >> 20) + ", scratch " +
                             std::to_string(stride * threads >> 20) + "), budget is " + std::to_string(options.memoryBudget >> 20) + " MiB",
                         "raise --memory-budget, or compile for a smaller batch or sequence length");
  Expected<Slab> slab = Slab::create(total);
  if (!slab.ok())
    return slab.takeStatus();
  return std::unique_ptr<Context>(
      std::make_unique<CpuContext>(shared_from_this(), slab.take(), threads, options.spinMicros, stride));
}
