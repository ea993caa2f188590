//===- KernelBuild.cpp - all groups of a model -> one ELF -----------------===//
#include "lib/Target/cpu/KernelBuild.h"

#include "dialects/graph/Locations.h"
#include "lib/Target/GroupText.h"
#include "lib/Target/cpu/Codegen.h"
#include "lib/Target/cpu/Isa.h"
#include "lib/Target/cpu/Link.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/xxhash.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;

MemRefType cpu::memoryType(RankedTensorType type) {
  Type element = type.getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    element = IntegerType::get(type.getContext(), std::max(8u, integer.getWidth()));
  // convert-func-to-llvm has no bare pointer for a memref without elements; nothing ever reads the one given here.
  auto shape = llvm::map_to_vector(type.getShape(), [](int64_t d) { return std::max<int64_t>(d, 1); });
  return MemRefType::get(shape, element);
}

namespace {

EmitRequest requestFor(graph::GroupOp group, ArrayRef<bool> isConstant, const Isa &isa, unsigned threads) {
  return {group, llvm::SmallVector<bool>(isConstant), isa, threads};
}

llvm::SmallVector<bool> constantOperands(graph::GroupOp group) {
  return llvm::map_to_vector(group.getInputs(), [](Value v) { return bool(v.getDefiningOp<graph::ConstantOp>()); });
}

struct Claim {
  const Emitter *emitter;
  KernelPlan plan;
};

std::optional<Claim> claim(const EmitRequest &request) {
  for (const Emitter &emitter : emitters())
    if (std::optional<KernelPlan> plan = emitter.match(request))
      return Claim{&emitter, std::move(*plan)};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

graph::GroupOp wrapInGroup(OpBuilder &b, Operation *op, IRMapping &mapping) {
  SmallVector<Value> inputs; // constants of the body stay inside the new body
  SmallVector<Value> bodyOnly;
  for (Value v : op->getOperands())
    (mapping.lookup(v).getDefiningOp<graph::ConstantOp>() && v.getDefiningOp<graph::ConstantOp>() ? bodyOnly : inputs)
        .push_back(v);
  auto outer = llvm::map_to_vector(inputs, [&](Value v) { return mapping.lookup(v); });
  auto group = graph::GroupOp::create(b, op->getLoc(), op->getResultTypes(), outer, b.getStringAttr("generic"));
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&group.getBody());
  IRMapping inner;
  for (Value v : inputs)
    inner.map(v, body->addArgument(v.getType(), op->getLoc()));
  for (Value v : bodyOnly)
    if (!inner.contains(v))
      inner.map(v, b.clone(*v.getDefiningOp())->getResult(0));
  Operation *copy = b.clone(*op, inner);
  graph::YieldOp::create(b, op->getLoc(), copy->getResults());
  return group;
}

/// Replaces composites of the block by primitives until none is left.
void decomposeAll(Block &block) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
      auto graphOp = dyn_cast<graph::GraphOpInterface>(op);
      OpBuilder b(&op);
      if (!graphOp)
        continue;
      FailureOr<SmallVector<Value>> values = graphOp.decompose(b);
      if (failed(values))
        continue;
      graph::passOnValueName(&op, *values);
      op.replaceAllUsesWith(*values);
      op.erase();
      changed = true;
    }
  }
}

void splitGroup(graph::GroupOp group) {
  Block &body = group.getBody().front();
  decomposeAll(body);
  OpBuilder b(group);
  IRMapping mapping;
  mapping.map(body.getArguments(), group.getInputs());
  for (Operation &op : body.without_terminator()) {
    if (isa<graph::ConstantOp, graph::ReshapeOp>(op)) {
      b.clone(op, mapping);
      continue;
    }
    graph::GroupOp single = wrapInGroup(b, &op, mapping);
    mapping.map(op.getResults(), single.getResults());
  }
  for (auto [result, value] : llvm::zip(group.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookup(value));
  group.erase();
}

//===----------------------------------------------------------------------===//
// Building one kernel
//===----------------------------------------------------------------------===//

struct Job {
  std::string text; ///< groupText
  llvm::SmallVector<bool> isConstant;
  std::string symbol;
  llvm::SmallVector<bool> mayAlias;
};

/// Everything that decides a kernel's code, as one string.
std::string jobKey(const Job &job, const Isa &isa, unsigned threads) {
  std::string key = job.text;
  for (bool c : job.isConstant)
    key += c ? 'c' : 'v';
  return key + "|" + std::to_string(threads) + "|" + identityOf(isa);
}

MemRefType inputMemory(RankedTensorType type, const std::optional<PanelLayout> &layout) {
  MemRefType plain = memoryType(type);
  if (!layout)
    return plain;
  int64_t panels = llvm::divideCeil(layout->n, layout->panel);
  return MemRefType::get({panels, std::max<int64_t>(layout->k, 1), static_cast<int64_t>(layout->panel)},
                         plain.getElementType());
}

/// Builds @kernel for the group and removes the group.
void emitKernel(ModuleOp module, const EmitRequest &request, const Claim &claim) {
  OpBuilder b(module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  Location loc = b.getUnknownLoc();
  graph::GroupOp group = request.group;
  SmallVector<Type> types;
  for (auto [i, input] : llvm::enumerate(group.getInputs()))
    types.push_back(inputMemory(cast<RankedTensorType>(input.getType()),
                                i < claim.plan.inputLayouts.size() ? claim.plan.inputLayouts[i] : std::nullopt));
  for (Type type : group.getResultTypes())
    types.push_back(memoryType(cast<RankedTensorType>(type)));
  types.append({b.getIndexType(), b.getIndexType(),
                MemRefType::get({static_cast<int64_t>(claim.plan.scratchBytes)}, b.getI8Type())});
  auto func = func::FuncOp::create(b, loc, "kernel", b.getFunctionType(types, b.getI32Type()));
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  KernelBuilder k{b, func, {}, {}, {}, {}, {}};
  size_t inputs = group.getInputs().size(), outputs = group->getNumResults();
  for (size_t i = 0; i < inputs + outputs; ++i)
    (i < inputs ? k.inputs : k.outputs).push_back(entry->getArgument(i));
  k.lo = entry->getArgument(inputs + outputs);
  k.hi = entry->getArgument(inputs + outputs + 1);
  k.scratch = entry->getArgument(inputs + outputs + 2);
  claim.emitter->emit(request, claim.plan, k);
  Block &last = func.getBody().back();
  if (!last.mightHaveTerminator()) { // an emitter without faults leaves the return to us
    b.setInsertionPointToEnd(&last);
    func::ReturnOp::create(b, loc, ValueRange{arith::ConstantIntOp::create(b, loc, 0, 32)});
  }
  group->getParentOfType<func::FuncOp>().erase();
}

double milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
}

class KernelCompiler {
public:
  KernelCompiler(const Isa &isa, const BuildOptions &options) : isa(isa), options(options) {
    registerCodegenDialects(registry);
  }

  Expected<std::vector<char>> compile(const Job &job) const {
    std::string key = jobKey(job, isa, options.threads);
    bool mustPrint = options.printKernels || options.printLlvm;
    if (options.getObject && !mustPrint)
      if (std::optional<std::vector<char>> object = options.getObject(key))
        return std::move(*object);
    PhaseTimes own;
    auto start = std::chrono::steady_clock::now();
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects(); // emitters build ops of dialects that the text does not mention
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(job.text, &context);
    if (!module)
      return Status::error(StatusCode::Internal, "kernel " + job.symbol + ": group does not parse back");
    graph::GroupOp group;
    module->walk([&](graph::GroupOp op) { group = op; });
    EmitRequest request = requestFor(group, job.isConstant, isa, options.threads);
    emitKernel(*module, request, *claim(request));
    if (options.printKernels)
      *options.printKernels << "// " << job.symbol << "\n" << *module << "\n";
#ifndef NDEBUG
    if (failed(verify(*module)))
      return Status::error(StatusCode::Internal, "kernel " + job.symbol + ": emitter built invalid IR");
#endif
    CodegenOptions codegen;
    codegen.symbol = job.symbol;
    codegen.mayAlias = job.mayAlias;
    codegen.printLlvm = options.printLlvm;
    codegen.times = &own;
    own.emitMs = milliseconds(start);
    Expected<std::vector<char>> object = compileKernel(*module, isa, codegen);
    if (object.ok() && options.putObject)
      options.putObject(key, *object);
    std::lock_guard lock(timesMutex);
    ++compiled;
    times.emitMs += own.emitMs;
    times.passesMs += own.passesMs;
    times.optimizeMs += own.optimizeMs;
    times.codegenMs += own.codegenMs;
    return object;
  }

  /// Compiles all jobs on options.jobs threads; the first error in job order wins.
  Expected<std::vector<std::vector<char>>> compileAll(const std::vector<Job> &jobs) const {
    std::vector<std::optional<Expected<std::vector<char>>>> results(jobs.size());
    std::atomic<size_t> next{0};
    unsigned done = 0;
    std::mutex mutex;
    auto work = [&] {
      for (size_t i; (i = next++) < jobs.size();) {
        results[i].emplace(compile(jobs[i]));
        std::lock_guard lock(mutex);
        if (options.progress)
          options.progress(++done, jobs.size());
      }
    };
    std::vector<std::thread> helpers;
    for (unsigned i = 1; i < std::min<size_t>(options.jobs, jobs.size()); ++i)
      helpers.emplace_back(work);
    work();
    for (std::thread &t : helpers)
      t.join();
    std::vector<std::vector<char>> objects;
    for (auto &result : results) {
      if (!result->ok())
        return result->takeStatus();
      objects.push_back(result->take());
    }
    return objects;
  }

  mutable unsigned compiled = 0;
  mutable PhaseTimes times;

private:
  mutable std::mutex timesMutex;
  const Isa &isa;
  const BuildOptions &options;
  DialectRegistry registry;
};

/// Which buffers of the launch may share memory: in-place results and the operands they may take over.
llvm::SmallVector<bool> aliasing(const KernelPlan &plan, size_t inputs, size_t outputs) {
  llvm::SmallVector<bool> may(inputs + outputs, false);
  for (auto [result, operands] : llvm::enumerate(plan.inPlace))
    for (unsigned operand : operands)
      may[operand] = may[inputs + result] = true;
  return may;
}

} // namespace

LogicalResult cpu::splitUnclaimedGroups(func::FuncOp main, const Isa &isa, unsigned threads) {
  for (auto group : llvm::make_early_inc_range(main.getOps<graph::GroupOp>()))
    if (!claim(requestFor(group, constantOperands(group), isa, threads)))
      splitGroup(group);
  for (auto group : main.getOps<graph::GroupOp>())
    if (!claim(requestFor(group, constantOperands(group), isa, threads)))
      return group.emitError("no CPU kernel for this operation");
  return success();
}

Expected<BuildResult> cpu::buildKernels(func::FuncOp main, const Isa &isa, const BuildOptions &options) {
  BuildResult result;
  std::vector<Job> jobs;
  llvm::StringMap<size_t> known; // key -> job
  for (auto group : main.getOps<graph::GroupOp>()) {
    Job job{groupText(group), constantOperands(group), {}, {}};
    std::optional<Claim> chosen = claim(requestFor(group, job.isConstant, isa, options.threads));
    if (!chosen)
      return Status::error(StatusCode::Internal, "group '" + group.getKind().str() + "' has no emitter");
    std::string key = jobKey(job, isa, options.threads);
    auto [it, isNew] = known.try_emplace(key, jobs.size());
    if (isNew) {
      job.symbol = chosen->emitter->kind.str() + "_" + llvm::utohexstr(llvm::xxh3_64bits(key), /*LowerCase=*/true, 16);
      job.mayAlias = aliasing(chosen->plan, group.getInputs().size(), group->getNumResults());
      jobs.push_back(std::move(job));
    }
    chosen->plan.inputLayouts.resize(group.getInputs().size());
    chosen->plan.inPlace.resize(group->getNumResults());
    result.kernels.push_back({jobs[it->second].symbol, std::move(chosen->plan)});
  }
  KernelCompiler compiler(isa, options);
  Expected<std::vector<std::vector<char>>> objects = compiler.compileAll(jobs);
  if (!objects.ok())
    return objects.takeStatus();
  result.distinct = jobs.size();
  result.compiled = compiler.compiled;
  result.times = compiler.times;
  if (jobs.empty())
    return result;
  auto start = std::chrono::steady_clock::now();
  Expected<std::vector<char>> elf = linkShared(*objects);
  result.times.linkMs = milliseconds(start);
  if (!elf.ok())
    return elf.takeStatus();
  result.code = elf.take();
  return result;
}
