//===- Session.cpp - an opened model with its tensors ---------------------===//
#include "tools/gaudi-run/Session.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/Words.h"

#include <sys/resource.h>

namespace gaudi::run {

static std::string stemOf(const std::string &path) {
  std::string name = path.substr(path.rfind('/') + 1);
  size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

static double ratioOf(const MemoryReport &memory) {
  return memory.lowerBound ? static_cast<double>(memory.slab) / static_cast<double>(memory.lowerBound) : 1;
}

std::string describeMemory(const Executable &executable) {
  const MemoryReport &memory = executable.memory();
  return cat(executable.target(), ", ", formatBytes(memory.weights), " weights (mmap), ", formatBytes(memory.slab),
             " slab, ratio ", fixed(ratioOf(memory), 2));
}

static Expected<std::shared_ptr<Executable>> open(const ResolvedModel &origin, const ModelOptions &options) {
  OpenOptions open;
  open.verify = options.verifyFull ? VerifyLevel::Full : VerifyLevel::Meta;
  open.weightsPath = origin.weights;
  open.device = options.device;
  Expected<std::shared_ptr<Executable>> executable = Executable::open(origin.artifact, open);
  removeTemporary(origin);
  return executable;
}

/// Whether the cache, rather than the user, is to blame for an artefact that cannot be used: then compiling anew helps.
static bool isStaleEntry(const ResolvedModel &origin, const Status &status, const ModelOptions &options) {
  bool forThisCpu = options.targetCpu.empty() || options.targetCpu == "native";
  return status.code() == StatusCode::BadArtifact && origin.cache == "hit" && options.cacheMode != "require" &&
         forThisCpu;
}

Expected<Session> openSession(const std::string &model, const ModelOptions &options, const InputSet &inputs,
                              const Console &console) {
  std::vector<std::string> shapes;
  for (const InputRequest &request : inputs.requests)
    if (std::string flag = request.shapeFlag(); !flag.empty())
      shapes.push_back(flag);
  Session session;
  session.name = stemOf(model);
  Expected<ResolvedModel> resolved = resolveModel(model, options, shapes);
  if (!resolved.ok())
    return resolved.takeStatus();
  session.origin = resolved.take();

  uint64_t begin = nowNs();
  Expected<std::shared_ptr<Executable>> executable = open(session.origin, options);
  if (!executable.ok() && isStaleEntry(session.origin, executable.status(), options)) {
    console.warning(cat("cache: ", executable.status().message(), "; compiling it again"));
    ModelOptions again = options;
    again.cacheMode = options.cacheMode == "ro" ? "off" : "refresh";
    resolved = resolveModel(model, again, shapes);
    if (!resolved.ok())
      return resolved.takeStatus();
    session.origin = resolved.take();
    begin = nowNs();
    executable = open(session.origin, options);
  }
  if (!executable.ok())
    return executable.takeStatus();
  session.executable = executable.take();
  session.openMs = static_cast<double>(nowNs() - begin) / 1e6;

  if (std::string line = describeCache(session.origin, session.openMs); !line.empty())
    console.info(line);
  console.info(cat(session.name, ": ", describeMemory(*session.executable)));
  return session;
}

Expected<std::vector<io::Array>> makeOutputs(const std::vector<TensorSpec> &signature) {
  std::vector<io::Array> arrays;
  for (const TensorSpec &spec : signature) {
    arrays.push_back(io::Array::zeros(spec));
    if (!arrays.back().valid())
      return Status::error(StatusCode::ResourceLimit, cat("output '", spec.name, "': no memory for ", toString(spec)));
  }
  return arrays;
}

std::vector<TensorView> viewsOf(const std::vector<io::Array> &arrays) {
  std::vector<TensorView> views;
  for (const io::Array &array : arrays)
    views.push_back(array.view());
  return views;
}

Expected<std::unique_ptr<Context>> makeContext(const Session &session, const ModelOptions &options) {
  ContextOptions context;
  context.threads = options.threads;
  context.memoryBudget = options.memoryBudget;
  return session.executable->createContext(context);
}

void writeSession(json::Writer &w, const Session &session) {
  const MemoryReport &memory = session.executable->memory();
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  w.field("model", session.name).field("cache", session.origin.cache).field("key", session.origin.key);
  w.field("compile_ms", session.origin.compileMs).field("open_ms", session.openMs);
  w.field("target", session.executable->target());
  w.key("memory").beginObject().field("weights", memory.weights).field("slab", memory.slab);
  w.field("scratch_per_thread", memory.scratchPerThread).field("lower_bound", memory.lowerBound);
  w.field("ratio", ratioOf(memory)).field("peak_rss", static_cast<uint64_t>(usage.ru_maxrss) * 1024).endObject();
}

} // namespace gaudi::run
