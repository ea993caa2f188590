//===- KernelHarness.cpp - compile a group, run it, compare with graph ----===//
#include "test/target/cpu/KernelHarness.h"

#include "dialects/graph/Evaluate.h"
#include "dialects/graph/HostTensor.h"
#include "lib/Target/cpu/Codegen.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Signals.h"

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::cpu::test;
using graph::HostTensor;

//===----------------------------------------------------------------------===//
// Loading and buffers
//===----------------------------------------------------------------------===//

LoadedKernels::LoadedKernels(const std::vector<char> &elf) {
  int fd = memfd_create("kernels", MFD_CLOEXEC);
  if (write(fd, elf.data(), elf.size()) != static_cast<ssize_t>(elf.size())) {
    error = "memfd write failed";
    return;
  }
  handle = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    error = dlerror();
  close(fd);
}

LoadedKernels::~LoadedKernels() {
  if (handle)
    dlclose(handle);
}

KernelFn LoadedKernels::find(const std::string &symbol) const {
  return reinterpret_cast<KernelFn>(dlsym(handle, symbol.c_str()));
}

static constexpr size_t kFrontBytes = 64;
static constexpr char kCanary = 0x5a;

GuardedBuffer::GuardedBuffer(size_t bytes, size_t alignment) : bytes(bytes) {
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t usable = (bytes + kFrontBytes + alignment + page - 1) / page * page;
  mapped = usable + page;
  mapping = static_cast<char *>(mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(mapping + usable, page, PROT_NONE);
  begin = mapping + (usable - bytes) / alignment * alignment;
  std::memset(mapping, kCanary, usable);
}

GuardedBuffer::~GuardedBuffer() { munmap(mapping, mapped); }

bool GuardedBuffer::frontIntact() const {
  return std::all_of(begin - kFrontBytes, begin, [](char c) { return c == kCanary; });
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string test::moduleText(const Case &c) {
  auto list = [](const std::vector<std::string> &types, const char *prefix) {
    std::string text;
    for (size_t i = 0; i < types.size(); ++i)
      text += (i ? ", " : "") + (*prefix ? prefix + std::to_string(i) + ": " : std::string()) + types[i];
    return text;
  };
  auto names = [](size_t n, const std::string &prefix) {
    std::string text;
    for (size_t i = 0; i < n; ++i)
      text += (i ? ", " : "") + prefix + std::to_string(i);
    return text;
  };
  size_t in = c.inputs.size(), out = c.results.size();
  std::string types = "(" + list(c.inputs, "") + ") -> (" + list(c.results, "") + ")";
  std::string text = "func.func @main(" + list(c.inputs, "%a") + ") -> (" + list(c.results, "") +
                     ") {\n  %g:" + std::to_string(out) + " = graph.group \"" + c.kind + "\" (" + names(in, "%a") +
                     ") : " + types + " {\n";
  text += in ? "  ^bb0(" + list(c.inputs, "%") + "):\n" : "";
  text += c.body + "\n    graph.yield " + names(out, "%r") + " : " + list(c.results, "") + "\n  }\n";
  return text + "  return " + names(out, "%g#") + " : " + list(c.results, "") + "\n}\n";
}

Parsed test::parse(const std::string &text) {
  DialectRegistry registry;
  registerCodegenDialects(registry);
  Parsed p;
  p.context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  p.module = parseSourceString<ModuleOp>(text, p.context.get());
  return p;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static HostTensor randomTensor(RankedTensorType type, Fill fill, int64_t indexLimit, double offset, std::mt19937 &rng) {
  HostTensor t = HostTensor::zeros(type);
  std::uniform_real_distribution<double> real(-4, 4);
  double inf = std::numeric_limits<double>::infinity();
  const double specials[] = {0.0, -0.0, inf, -inf, std::nan(""), 1e-40, -1e-40, 3e38, -3e38, 65504, 1e-7, 88.0, -104.0};
  if (t.isFloat()) {
    for (double &x : t.floats())
      x = fill == Fill::Special && rng() % 3 == 0 ? specials[rng() % std::size(specials)] : offset + real(rng);
  } else {
    unsigned bits = type.getElementTypeBitWidth();
    bool isUnsigned = type.getElementType().isUnsignedInteger();
    int64_t top = bits == 1 ? 1 : isUnsigned ? -1 : static_cast<int64_t>((uint64_t(1) << (bits - 1)) - 1);
    const int64_t extremes[] = {0, 1, -1, top, -top - 1, 7};
    for (int64_t &x : t.ints()) {
      if (fill == Fill::Index)
        x = static_cast<int64_t>(rng() % std::max<int64_t>(indexLimit, 1));
      else if (bits == 1)
        x = rng() & 1;
      else if (fill == Fill::Special && rng() % 2)
        x = extremes[rng() % std::size(extremes)];
      else
        x = static_cast<int64_t>(rng() % 41) - (isUnsigned ? 0 : 20);
    }
  }
  t.round();
  return t;
}

/// One unit in the last place of the storage type, relative.
static double unit(Type element) { return element.isBF16() ? 1.0 / 128 : element.isF16() ? 1.0 / 1024 : 0; }

static bool close(double want, double got, Type element, const Tolerance &tolerance) {
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) && std::isnan(got);
  if (want == got)
    return true;
  if (std::isinf(want) || std::isinf(got)) // 16-bit rounding may cross the largest finite value
    return element.isF16() && std::fabs(std::isinf(want) ? got : want) >= 65472;
  return std::fabs(want - got) <= tolerance.absolute + (tolerance.relative + 2 * unit(element)) * std::fabs(want);
}

static std::string compare(const HostTensor &want, const HostTensor &got, const Tolerance &tolerance) {
  for (int64_t i = 0; i < want.elementCount(); ++i) {
    bool same = want.isFloat() ? close(want.floats()[i], got.floats()[i], want.elementType, tolerance)
                               : want.ints()[i] == got.ints()[i];
    if (same)
      continue;
    std::string text;
    llvm::raw_string_ostream out(text);
    out << "element " << i << ": want ";
    want.isFloat() ? out << llvm::format("%.9g got %.9g", want.floats()[i], got.floats()[i])
                   : out << want.ints()[i] << " got " << got.ints()[i];
    return text;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

int32_t test::runAll(KernelFn fn, const KernelPlan &plan, const std::vector<void *> &args, void *scratch) {
  return fn(args.data(), 0, static_cast<int64_t>(plan.grid), scratch);
}

namespace {

/// Random cover of [0, grid) in random order.
std::vector<std::pair<int64_t, int64_t>> randomSplit(int64_t grid, std::mt19937 &rng) {
  std::vector<std::pair<int64_t, int64_t>> parts;
  for (int64_t at = 0; at < grid;) {
    int64_t n = std::min<int64_t>(1 + rng() % std::max<int64_t>(grid / 3, 1), grid - at);
    parts.push_back({at, at + n});
    at += n;
  }
  std::shuffle(parts.begin(), parts.end(), rng);
  return parts;
}

struct Runner {
  const Case &c;
  graph::GroupOp group;
  const KernelPlan &plan;
  KernelFn fn;
  std::vector<HostTensor> inputs;
  llvm::SmallVector<HostTensor> want;
  std::mt19937 &rng;

  /// result -> operand whose buffer it takes over, or -1.
  std::string run(int inPlaceResult, int inPlaceOperand) {
    std::vector<std::unique_ptr<GuardedBuffer>> buffers;
    std::vector<void *> args;
    auto add = [&](const std::vector<char> *bytes, RankedTensorType type) {
      size_t element = std::max<size_t>(1, type.getElementTypeBitWidth() / 8);
      size_t size = bytes ? bytes->size() : type.getNumElements() * element;
      buffers.push_back(std::make_unique<GuardedBuffer>(size, element));
      if (bytes)
        std::memcpy(buffers.back()->data(), bytes->data(), size);
      args.push_back(buffers.back()->data());
    };
    for (const HostTensor &t : inputs) {
      std::vector<char> bytes = t.toBytes();
      add(&bytes, t.type());
    }
    for (auto [i, type] : llvm::enumerate(group.getResultTypes())) {
      if (static_cast<int>(i) == inPlaceResult)
        args.push_back(args[inPlaceOperand]);
      else
        add(nullptr, cast<RankedTensorType>(type));
    }
    GuardedBuffer scratch(plan.scratchBytes, 64);
    int32_t code = 0;
    for (auto [lo, hi] : randomSplit(plan.grid, rng)) {
      std::memset(scratch.data(), 0xff, scratch.size());
      code = std::max(code, fn(args.data(), lo, hi, scratch.data()));
    }
    if (code != static_cast<int32_t>(c.fault))
      return "returned " + std::to_string(code);
    for (auto &buffer : buffers)
      if (!buffer->frontIntact())
        return "wrote in front of a buffer";
    if (!scratch.frontIntact())
      return "wrote in front of the scratch";
    if (c.fault != KernelFault::None)
      return {};
    return compareResults(args);
  }

  std::string compareResults(const std::vector<void *> &args) {
    for (auto [i, type] : llvm::enumerate(group.getResultTypes())) {
      auto tensor = cast<RankedTensorType>(type);
      size_t bytes = tensor.getNumElements() * std::max<size_t>(1, tensor.getElementTypeBitWidth() / 8);
      auto *data = static_cast<char *>(args[inputs.size() + i]);
      std::string wrong = compare(want[i], HostTensor::fromBytes(tensor, {data, bytes}), c.tolerance);
      if (!wrong.empty())
        return "result " + std::to_string(i) + ", " + wrong;
    }
    return {};
  }
};

} // namespace

std::string test::check(const Case &c, uint32_t seed) {
  [[maybe_unused]] static bool once =
      (llvm::EnablePrettyStackTrace(), llvm::sys::PrintStackTraceOnErrorSignal(""), true);
  std::string text = moduleText(c);
  llvm::PrettyStackTraceString onCrash(text.c_str()); // a kernel that reads past a buffer names its group
  Parsed parsed = parse(text);
  if (!parsed.module)
    return "does not parse:\n" + moduleText(c);
  Expected<Isa> isa = resolveIsa(c.cpu);
  if (!isa.ok())
    return isa.status().message();
  BuildOptions options;
  options.threads = c.threads;
  Expected<BuildResult> built = buildKernels(parsed.main(), *isa, options);
  if (!built.ok())
    return "build: " + built.status().message();
  LoadedKernels kernels(built->code);
  if (!kernels.error.empty())
    return kernels.error;

  std::mt19937 rng(seed);
  auto group = *parsed.main().getOps<graph::GroupOp>().begin();
  const BuiltKernel &kernel = built->kernels.front();
  Runner runner{c, group, kernel.plan, kernels.find(kernel.symbol), {}, {}, rng};
  for (auto [i, type] : llvm::enumerate(group.getInputs().getTypes()))
    runner.inputs.push_back(randomTensor(cast<RankedTensorType>(type), i < c.fills.size() ? c.fills[i] : Fill::Plain,
                                         c.indexLimit, c.offset, rng));
  if (c.fault == KernelFault::None &&
      failed(graph::evaluateRegion(group.getBody(), runner.inputs, runner.want, nullptr)))
    return "the evaluator failed";
  std::string wrong = runner.run(-1, -1);
  for (auto [result, operands] : llvm::enumerate(kernel.plan.inPlace))
    for (unsigned operand : operands)
      if (wrong.empty() && !(wrong = runner.run(result, operand)).empty())
        wrong += " (in place of operand " + std::to_string(operand) + ")";
  return wrong;
}
