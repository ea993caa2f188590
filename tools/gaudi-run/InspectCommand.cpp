//===- InspectCommand.cpp - gaudi-run inspect -----------------------------===//
//
// Reads the verified metadata only: nothing of the artefact is executed, and artefacts for other machines can be shown.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Text.h"
#include "runtime/cache/Json.h"
#include "runtime/exec/Describe.h"
#include "runtime/load/Artifact.h"
#include "tools/gaudi-run/Commands.h"
#include "tools/gaudi-run/Inputs.h"
#include "tools/gaudi-run/Resolve.h"
#include "tools/gaudi-run/Words.h"

#include <map>

namespace gaudi::run {

static std::string text(const flatbuffers::String *s) { return s ? s->str() : std::string(); }

/// Launches per kernel symbol.
static std::map<std::string, unsigned> countKernels(const Description &d) {
  std::map<std::string, unsigned> counts;
  for (const KernelInfo &kernel : d.kernels)
    ++counts[kernel.kernel];
  return counts;
}

static double ratio(const MemoryReport &m) {
  return m.lowerBound ? static_cast<double>(m.slab) / static_cast<double>(m.lowerBound) : 1;
}

static std::string formatProvenance(const schema::Provenance *p) {
  if (!p)
    return {};
  std::string out = "provenance\n";
  auto row = [&](const char *label, const std::string &value) {
    if (!value.empty())
      out += cat("  ", label, value, "\n");
  };
  row("compiler  ", text(p->compiler()));
  row("model     ", text(p->model()));
  row("digest    ", text(p->model_digest()));
  row("flags     ", text(p->flags()));
  row("pipeline  ", text(p->pipeline()));
  row("compile   ", duration(p->compile_ms()));
  return out;
}

static std::string formatText(const Artifact &artifact, const Description &d, bool verbose) {
  const MemoryReport &m = d.memory;
  std::string out =
      cat("target    ", d.target, "\nsize      ", formatBytes(artifact.sizeBytes()), " (code ",
          formatBytes(artifact.code().size()), ", constants ", formatBytes(artifact.rodata().size()), ", weights ",
          artifact.weights().empty() && m.weights ? "not included" : formatBytes(artifact.weights().size()), ")\n");
  out += cat("inputs\n", formatSignature(d.inputs), "outputs\n", formatSignature(d.outputs));
  out += cat("memory\n  weights   ", formatBytes(m.weights), "\n  slab      ", formatBytes(m.slab), " (lower bound ",
             formatBytes(m.lowerBound), ", ratio ", fixed(ratio(m), 2), ")\n  scratch   ",
             formatBytes(m.scratchPerThread), " per thread\n");
  if (!m.liveAtPeak.empty())
    out += "  live at the peak\n";
  for (const MemoryReport::Live &live : m.liveAtPeak)
    out += cat("    ", live.name, "  ", formatBytes(live.sizeBytes), "\n");
  std::map<std::string, unsigned> counts = countKernels(d);
  out += cat("kernels   ", d.kernels.size(), " launches of ", counts.size(), " kernels\n");
  for (const auto &[kernel, count] : counts)
    out += cat("  ", kernel, " x", count, "\n");
  if (verbose)
    for (size_t i = 0; i < d.kernels.size(); ++i)
      out += cat("  ", i, "  ", d.kernels[i].name, " (", d.kernels[i].kernel, ")\n");
  return out + formatProvenance(artifact.program().provenance());
}

static void writeSpecs(json::Writer &w, const char *key, const std::vector<TensorSpec> &specs) {
  w.key(key).beginArray();
  for (const TensorSpec &spec : specs) {
    w.beginObject().field("name", spec.name).field("dtype", nameOf(spec.dtype)).key("shape").beginArray();
    for (int64_t dim : spec.shape)
      w.value(dim);
    w.endArray().endObject();
  }
  w.endArray();
}

static std::string formatJson(const Artifact &artifact, const Description &d) {
  const MemoryReport &m = d.memory;
  json::Writer w;
  w.beginObject().field("target", d.target).field("bytes", artifact.sizeBytes());
  writeSpecs(w, "inputs", d.inputs);
  writeSpecs(w, "outputs", d.outputs);
  w.key("memory").beginObject().field("weights", m.weights).field("slab", m.slab).field("lower_bound", m.lowerBound);
  w.field("ratio", ratio(m)).field("scratch_per_thread", m.scratchPerThread).key("live_at_peak").beginArray();
  for (const MemoryReport::Live &live : m.liveAtPeak)
    w.beginObject().field("name", live.name).field("bytes", live.sizeBytes).endObject();
  w.endArray().endObject().key("launches").beginArray();
  for (const KernelInfo &k : d.kernels)
    w.beginObject()
        .field("name", k.name)
        .field("kernel", k.kernel)
        .field("flops", k.flops)
        .field("bytes", k.bytes)
        .endObject();
  w.endArray();
  if (const schema::Provenance *p = artifact.program().provenance()) {
    w.key("provenance").beginObject().field("compiler", text(p->compiler())).field("model", text(p->model()));
    w.field("model_digest", text(p->model_digest())).field("pipeline", text(p->pipeline()));
    w.field("flags", text(p->flags())).field("compile_ms", p->compile_ms()).endObject();
  }
  return w.endObject().text();
}

Status inspectCommand(const Options &options, const Console &console) {
  Expected<ResolvedModel> resolved = resolveModel(options.models[0], options.model, {});
  if (!resolved.ok())
    return resolved.takeStatus();
  OpenOptions open;
  open.verify = options.model.verifyFull ? VerifyLevel::Full : VerifyLevel::Meta;
  Expected<std::unique_ptr<Artifact>> artifact = Artifact::open(resolved->artifact, open);
  removeTemporary(*resolved);
  if (!artifact.ok())
    return artifact.takeStatus();
  Description description = describe((*artifact)->program());
  GAUDI_TRY(console.result(formatText(**artifact, description, console.verbose())));
  return console.wantsJson() ? console.json(formatJson(**artifact, description)) : Status();
}

} // namespace gaudi::run
