//===- Compile.cpp - the whole route from model to artefact ---------------===//
#include "lib/Driver/Compile.h"

#include "lib/Artifact/Writer.h"
#include "lib/Driver/BuildId.h"
#include "lib/Driver/Export.h"
#include "lib/Driver/Frame.h"
#include "lib/Driver/InputSpec.h"
#include "lib/Driver/Names.h"
#include "lib/Driver/PlanMemory.h"
#include "lib/Driver/Taps.h"
#include "lib/Import/Import.h"
#include "lib/Target/Target.h"
#include "lib/Transforms/Pipelines.h"
#include "runtime/base/Clock.h"
#include "runtime/base/CpuCount.h"
#include "runtime/load/Artifact.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::driver;

namespace {

double since(uint64_t startNs) { return static_cast<double>(nowNs() - startNs) / 1e6; }

/// Collects MLIR diagnostics so that they become one Status.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(MLIRContext &context)
      : handler(&context, [this](Diagnostic &d) {
          if (d.getSeverity() != DiagnosticSeverity::Error)
            return;
          std::string where = launchName(d.getLocation());
          if (first.empty())
            first = (where.empty() ? "" : "node '" + where + "': ") + d.str();
        }) {}

  Status status(StatusCode code, const char *step, std::string hint = {}) const {
    return Status::error(code, first.empty() ? std::string(step) + " failed" : first, std::move(hint));
  }

private:
  std::string first;
  ScopedDiagnosticHandler handler;
};

/// One compile: the module and what was learnt about it, step by step.
class Compiler {
public:
  Compiler(const OnnxModel &model, const CompileOptions &options)
      : model(model), options(options), context(registry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    threads = options.threads ? options.threads : usableCores();
  }

  Status chooseTarget();
  Status importStep(bool needStatic);
  Status transformStep();
  Status runPasses(const char *step, llvm::function_ref<void(PassManager &)> build);
  Status kernelStep(llvm::raw_ostream *printKernels, llvm::raw_ostream *printLlvm);
  const std::vector<char> &code() const { return built.code; }
  Status frameStep();
  Status writeStep(Weights weights, const std::string &path);

  CompileStats stats;

private:
  static const DialectRegistry &registry() {
    static const DialectRegistry *instance = [] {
      auto *r = new DialectRegistry;
      r->insert<func::FuncDialect, graph::GraphDialect, rt::RtDialect>();
      return r;
    }();
    return *instance;
  }
  void say(const std::string &line) const {
    if (options.progress)
      options.progress(line);
  }
  func::FuncOp mainFunc() { return module->lookupSymbol<func::FuncOp>("main"); }
  void describe(schema::ProgramT &program) const;

  const OnnxModel &model;
  const CompileOptions &options;
  MLIRContext context; // before the modules: they must go first

public:
  OwningOpRef<ModuleOp> module, frame;

private:
  unsigned threads;
  std::unique_ptr<Target> target;
  BuildResult built;
  PlannedMemory memory;
  WholeWeights whole;
};

Status Compiler::chooseTarget() {
  Expected<std::unique_ptr<Target>> created = createTarget(options.device, options.targetCpu);
  if (created.ok())
    target = created.take();
  return created.takeStatus();
}

Status Compiler::importStep(bool needStatic) {
  uint64_t start = nowNs();
  ImportOptions import;
  import.shapes = options.shapes;
  import.dims = options.dims;
  Expected<OwningOpRef<ModuleOp>> imported = importModel(context, model, import);
  if (!imported.ok())
    return imported.takeStatus().annotate(options.model);
  module = imported.take();
  whole = wholeWeights(*module);
  if (needStatic)
    if (Status s = requireStaticInputs(*module); !s.ok())
      return std::move(s).annotate(options.model);
  stats.importMs = since(start);
  return {};
}

Status Compiler::runPasses(const char *step, llvm::function_ref<void(PassManager &)> build) {
  DiagnosticCollector diagnostics(context);
  PassManager pm(&context);
#ifdef NDEBUG
  pm.enableVerifier(false);
#endif
  build(pm);
  if (failed(pm.run(*module)))
    return diagnostics.status(StatusCode::InvalidInput, step).annotate(options.model);
  return {};
}

Status Compiler::transformStep() {
  uint64_t start = nowNs();
  say("optimising the graph");
  GAUDI_TRY(runPasses("shape arithmetic", [](PassManager &pm) { transforms::buildStaticPipeline(pm); }));
  DiagnosticCollector diagnostics(context);
  if (failed(transforms::requireStaticShapes(mainFunc())))
    return diagnostics
        .status(StatusCode::Unsupported, "static shapes",
                "store the input that decides the shape in the model, as a constant")
        .annotate(options.model);
  GAUDI_TRY(runPasses("graph optimisation", [this](PassManager &pm) { target->buildPipeline(pm); }));
  stats.transformMs = since(start);
  return {};
}

Status Compiler::kernelStep(llvm::raw_ostream *printKernels, llvm::raw_ostream *printLlvm) {
  uint64_t start = nowNs();
  DiagnosticCollector diagnostics(context);
  materializeResults(mainFunc());
  if (failed(target->claimGroups(mainFunc(), threads)))
    return diagnostics.status(StatusCode::Unsupported, "choosing kernels").annotate(options.model);
  if (options.taps)
    addTaps(mainFunc());
  BuildOptions build;
  build.jobs = printKernels || printLlvm ? 1 : threads;
  build.threads = threads;
  build.printKernels = printKernels;
  build.printLlvm = printLlvm;
  build.getObject = options.getObject;
  build.putObject = options.putObject;
  if (options.progress)
    build.progress = [&](unsigned done, unsigned total) {
      say("compiling kernels " + std::to_string(done) + "/" + std::to_string(total));
    };
  Expected<BuildResult> result = target->build(mainFunc(), build);
  if (!result.ok())
    return result.takeStatus();
  built = result.take();
  stats.groups = built.kernels.size();
  stats.kernels = built.distinct;
  stats.compiled = built.compiled;
  stats.kernelMs = since(start);
  return {};
}

/// The target's answer in the frame's terms.
GroupKernel frameKernel(MLIRContext &context, const BuiltKernel &built) {
  GroupKernel kernel{built.symbol, built.plan.grid, built.plan.chunk, built.plan.scratchBytes, {}, {}};
  for (const auto &layout : built.plan.inputLayouts)
    kernel.inputPanels.push_back(
        layout ? rt::PanelsAttr::get(&context, layout->panel, layout->transposed, layout->k, layout->n)
               : rt::PanelsAttr());
  for (const auto &operands : built.plan.inPlace)
    kernel.inPlace.emplace_back(operands.begin(), operands.end());
  return kernel;
}

Status Compiler::frameStep() {
  uint64_t start = nowNs();
  GroupKernels kernels;
  for (auto [group, kernel] : llvm::zip_equal(mainFunc().getOps<graph::GroupOp>(), built.kernels))
    kernels[group] = frameKernel(context, kernel);
  DiagnosticCollector diagnostics(context);
  frame = buildFrame(mainFunc(), kernels);
  if (!frame)
    return diagnostics.status(StatusCode::Internal, "building the launch sequence").annotate(options.model);
  plan::Options planOptions;
  planOptions.budget = options.memoryBudget;
  Expected<PlannedMemory> planned = planMemory(*frame->getOps<func::FuncOp>().begin(), planOptions);
  if (!planned.ok())
    return planned.takeStatus().annotate(options.model);
  memory = planned.take();
  stats.slabBytes = memory.plan.peak;
  stats.lowerBound = memory.plan.lowerBound;
  stats.planMs = since(start);
  return {};
}

void Compiler::describe(schema::ProgramT &program) const {
  program.target = std::make_unique<schema::TargetT>();
  TargetInfo info = target->info();
  program.target->device = info.device;
  program.target->triple = info.triple;
  program.target->cpu = info.cpu;
  program.target->features = info.features;
  program.provenance = std::make_unique<schema::ProvenanceT>();
  program.provenance->compiler = compilerIdentity();
  program.provenance->model = options.model;
  program.provenance->model_digest = toHex(model.skeletonDigest());
}

std::vector<std::span<const std::byte>> filesOf(const WeightStore &store) {
  std::vector<std::span<const std::byte>> files;
  for (size_t i = 0; i < store.fileCount(); ++i)
    files.push_back(store.bytes(i, 0, store.fileSizeBytes(i)));
  return files;
}

Status Compiler::writeStep(Weights weights, const std::string &path) {
  uint64_t start = nowNs();
  say("writing " + path);
  ExportedProgram exported = exportProgram(*frame, memory, whole);
  describe(exported.program);
  stats.weightBytes = exported.program.weights_size;
  ArtifactParts parts{&exported.program, built.code, exported.rodata, nullptr, threads};
  std::vector<pack::Source> sources;
  if (weights == Weights::Embed) {
    std::vector<std::span<const std::byte>> files = filesOf(model.weights());
    Expected<std::vector<pack::Source>> resolved = pack::sourcesFrom(exported.program, files);
    if (!resolved.ok())
      return resolved.takeStatus();
    sources = resolved.take();
    parts.sources = &sources;
  }
  GAUDI_TRY(writeArtifact(path, parts));
  stats.writeMs = since(start);
  return {};
}

} // namespace

Status driver::compileToFile(const OnnxModel &model, const CompileOptions &options, Weights weights,
                             const std::string &path, CompileStats &stats) {
  Compiler compiler(model, options);
  GAUDI_TRY(compiler.chooseTarget());
  GAUDI_TRY(compiler.importStep(/*needStatic=*/true));
  GAUDI_TRY(compiler.transformStep());
  GAUDI_TRY(compiler.kernelStep(nullptr, nullptr));
  GAUDI_TRY(compiler.frameStep());
  GAUDI_TRY(compiler.writeStep(weights, path));
  stats = compiler.stats;
  return {};
}

Status driver::packWeightsFile(const OnnxModel &model, const std::string &artifact, const std::string &path) {
  Expected<std::unique_ptr<Artifact>> opened = Artifact::open(artifact, {});
  if (!opened.ok())
    return opened.takeStatus();
  schema::ProgramT program;
  (*opened)->program().UnPackTo(&program);
  std::vector<std::span<const std::byte>> files = filesOf(model.weights());
  Expected<std::vector<pack::Source>> sources = pack::sourcesFrom(program, files);
  if (!sources.ok())
    return sources.takeStatus();
  return writeWeights(path, program, *sources, usableCores());
}

Expected<std::string> driver::packRecipe(const std::string &artifact) {
  Expected<std::unique_ptr<Artifact>> opened = Artifact::open(artifact, {});
  if (!opened.ok())
    return opened.takeStatus();
  const schema::Program &program = (*opened)->program();
  std::string recipe = std::to_string(program.weights_size());
  if (program.pack())
    recipe.append(reinterpret_cast<const char *>(program.pack()->Data()),
                  program.pack()->size() * sizeof(schema::PackStep));
  for (uint32_t i = 0; program.sources() && i < program.sources()->size(); ++i) {
    const schema::Source &source = *program.sources()->Get(i);
    recipe += "; " + std::to_string(source.dtype()) + " " + std::to_string(source.file()) + " " +
              std::to_string(source.offset()) + " " + std::to_string(source.length());
  }
  return recipe;
}

Status driver::printStage(const OnnxModel &model, const CompileOptions &options, Stage stage, llvm::raw_ostream &out) {
  Compiler compiler(model, options);
  OpPrintingFlags flags;
  GAUDI_TRY(compiler.chooseTarget());
  GAUDI_TRY(compiler.importStep(/*needStatic=*/stage != Stage::Import));
  if (stage != Stage::Import)
    GAUDI_TRY(compiler.transformStep());
  if (stage == Stage::Import || stage == Stage::Graph) {
    compiler.module->print(out, flags);
    return {};
  }
  GAUDI_TRY(compiler.kernelStep(stage == Stage::Kernels ? &out : nullptr, stage == Stage::Llvm ? &out : nullptr));
  if (stage == Stage::Obj)
    out.write(compiler.code().data(), compiler.code().size());
  if (stage != Stage::Rt)
    return {};
  GAUDI_TRY(compiler.frameStep());
  compiler.frame->print(out, flags);
  return {};
}

std::vector<std::pair<std::string, std::string>> driver::keyComponents(const OnnxModel &model,
                                                                       const CompileOptions &options) {
  Expected<std::unique_ptr<Target>> created = createTarget(options.device, options.targetCpu);
  TargetInfo info = created.ok() ? (*created)->info() : TargetInfo{options.device, "", options.targetCpu, {}};
  std::string target = info.device + " " + info.cpu + " " + llvm::join(info.features, ",");
  unsigned threads = options.threads ? options.threads : usableCores();
  return {{"format", "gdx 1.0"},
          {"compiler", compilerIdentity()},
          {"model", toHex(model.skeletonDigest())},
          {"weights-layout", toHex(model.layoutDigest())},
          {"inputs", inputSpec(model, options)},
          {"target", target},
          {"threads", std::to_string(threads)},
          {"memory-budget", std::to_string(options.memoryBudget)},
          {"taps", options.taps ? "1" : "0"}};
}
