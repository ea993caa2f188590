//===- KernelTest.cpp - a kernel against the reference evaluator ----------===//
#include "test/target/cpu/kernels/KernelTest.h"

#include "lib/Target/cpu/Codegen.h"

#include <cmath>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::cpu::test;
using graph::HostTensor;

const std::vector<Isa> &test::testedIsas() {
  static const std::vector<Isa> isas = [] {
    std::vector<Isa> list;
    Expected<Isa> native = resolveIsa("native");
    EXPECT_TRUE(native.ok()) << native.status().message();
    for (const char *name : {"native", "x86-64-v3", "x86-64-v2"}) {
      Expected<Isa> isa = resolveIsa(name);
      bool known = isa.ok() && llvm::none_of(list, [&](const Isa &other) { return other.name == isa->name; });
      bool runs = known && llvm::all_of(isa->features,
                                        [&](const std::string &f) { return llvm::is_contained(native->features, f); });
      if (runs)
        list.push_back(*isa);
    }
    return list;
  }();
  return isas;
}

Value test::unary(OpBuilder &b, Location loc, graph::UnaryKind kind, Value x) {
  return b.createOrFold<graph::UnaryOp>(loc, graph::UnaryKindAttr::get(b.getContext(), kind), x);
}
Value test::binary(OpBuilder &b, Location loc, graph::BinaryKind kind, Value x, Value y) {
  return graph::BinaryOp::create(b, loc, graph::BinaryKindAttr::get(b.getContext(), kind), x, y);
}

namespace {

constexpr size_t kGuard = 64;
constexpr char kGuardByte = '\xA5';

/// Bytes between guards, at an address that is aligned to the element only.
class Buffer {
public:
  Buffer(std::vector<char> bytes, size_t elementBytes, bool aligned) : size(bytes.size()) {
    storage.assign(size + 2 * kGuard + 128, kGuardByte);
    size_t start = reinterpret_cast<size_t>(storage.data());
    offset = (start + kGuard + 63) / 64 * 64 - start + (aligned ? 0 : elementBytes);
    std::copy(bytes.begin(), bytes.end(), storage.begin() + offset);
  }
  char *data() { return storage.data() + offset; }
  std::vector<char> bytes() { return std::vector<char>(data(), data() + size); }
  bool guardsIntact() const {
    auto intact = [&](size_t from, size_t to) {
      return std::all_of(storage.begin() + from, storage.begin() + to, [](char c) { return c == kGuardByte; });
    };
    return intact(0, offset) && intact(offset + size, storage.size());
  }

private:
  std::vector<char> storage;
  size_t offset, size;
};

unsigned elementBytes(Type t) { return std::max(8u, t.getIntOrFloatBitWidth()) / 8; }

void compare(const HostTensor &actual, const HostTensor &expected, Tolerance tolerance, const std::string &where) {
  int failures = 0;
  for (int64_t i = 0; i < expected.elementCount(); ++i) {
    double a = actual.floats()[i], e = expected.floats()[i];
    bool good = std::isnan(e)   ? std::isnan(a)
                : std::isinf(e) ? a == e
                                : std::abs(a - e) <= tolerance.absolute + tolerance.relative * std::abs(e);
    if (!good && ++failures <= 3)
      ADD_FAILURE() << where << ": element " << i << " of " << expected.elementCount() << " is " << a << ", expected "
                    << e;
  }
}

/// Calls of one kernel.
class Caller {
public:
  Caller(const LoadedKernel &kernel, const std::vector<HostTensor> &inputs, RankedTensorType result,
         llvm::ArrayRef<bool> constant)
      : kernel(kernel), inputs(inputs), result(result), constant(constant) {}

  /// Runs [lo, hi) pieces; `takeOver`: the operand whose storage the result uses, or -1.
  HostTensor run(llvm::ArrayRef<std::pair<int64_t, int64_t>> pieces, int takeOver, const std::string &where) {
    std::vector<Buffer> buffers;
    for (auto [i, tensor] : llvm::enumerate(inputs)) {
      std::vector<char> bytes = tensor.toBytes();
      unsigned size = elementBytes(tensor.elementType);
      if (const auto &layout = kernel.plan().inputLayouts[i])
        bytes = packPanels(bytes, *layout, size);
      buffers.emplace_back(std::move(bytes), size, constant[i]);
    }
    unsigned size = elementBytes(result.getElementType());
    if (takeOver < 0)
      buffers.emplace_back(std::vector<char>(result.getNumElements() * size, '\xFF'), size, false);
    std::vector<void *> args;
    for (Buffer &b : buffers)
      args.push_back(b.data());
    if (takeOver >= 0)
      args.push_back(buffers[takeOver].data());
    Buffer scratch(std::vector<char>(kernel.plan().scratchBytes, '\xFF'), 1, true);
    for (auto [lo, hi] : pieces)
      EXPECT_EQ(kernel(args.data(), lo, hi, scratch.data()), 0) << where;
    for (Buffer &b : buffers)
      EXPECT_TRUE(b.guardsIntact()) << where << ": wrote outside a buffer";
    EXPECT_TRUE(scratch.guardsIntact()) << where << ": wrote outside the scratch";
    return HostTensor::fromBytes(result, buffers[takeOver < 0 ? buffers.size() - 1 : takeOver].bytes());
  }

private:
  const LoadedKernel &kernel;
  const std::vector<HostTensor> &inputs;
  RankedTensorType result;
  llvm::ArrayRef<bool> constant;
};

std::vector<std::pair<int64_t, int64_t>> randomPieces(int64_t grid, std::mt19937 &random) {
  std::vector<std::pair<int64_t, int64_t>> pieces;
  for (int64_t at = 0; at < grid;) {
    int64_t next = std::min<int64_t>(grid, at + 1 + random() % std::max<int64_t>(grid / 3, 1));
    pieces.push_back({at, next});
    at = next;
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  return pieces;
}

} // namespace

KernelTest::KernelTest() {
  DialectRegistry registry;
  registerCodegenDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

RankedTensorType KernelTest::type(llvm::ArrayRef<int64_t> shape, Type element) {
  return RankedTensorType::get(shape, element ? element : f32());
}

void KernelTest::check(llvm::StringRef kind, std::vector<Input> inputs, GroupModule::Body body, Tolerance tolerance) {
  llvm::SmallVector<GroupModule::Operand> operands;
  llvm::SmallVector<bool> constant;
  std::vector<HostTensor> values;
  for (Input &input : inputs) {
    operands.push_back({input.type, input.constant});
    constant.push_back(input.constant);
    HostTensor tensor = HostTensor::zeros(input.type);
    std::uniform_real_distribution<double> uniform(-1, 1);
    if (tensor.isFloat())
      for (double &x : tensor.floats())
        x = uniform(random);
    else
      for (int64_t &x : tensor.ints())
        x = random() & 1;
    if (input.fill)
      input.fill(tensor);
    tensor.round();
    values.push_back(std::move(tensor));
  }
  GroupModule module(context, kind, operands, body);
  llvm::SmallVector<HostTensor> expected;
  ASSERT_TRUE(succeeded(graph::evaluateRegion(module.group().getBody(), values, expected, nullptr)));
  auto result = cast<RankedTensorType>(module.group().getResult(0).getType());
  for (Isa isa : testedIsas()) {
    if (l2Bytes)
      isa.l2Bytes = l2Bytes;
    Expected<LoadedKernel> kernel = LoadedKernel::build(module, isa, threads);
    ASSERT_TRUE(kernel.ok()) << isa.name << ": " << kernel.status().message();
    // A result without elements is the empty emitter's, whatever the group computes.
    std::string taker = result.getNumElements() == 0 ? "empty_" : (kind + "_").str();
    EXPECT_TRUE(kernel->symbol().starts_with(taker)) << "taken by " << kernel->symbol().str();
    Caller caller(*kernel, values, result, constant);
    int64_t grid = kernel->plan().grid;
    compare(caller.run({{0, grid}}, -1, isa.name), expected[0], tolerance, isa.name + " whole");
    compare(caller.run(randomPieces(grid, random), -1, isa.name), expected[0], tolerance, isa.name + " pieces");
    for (unsigned operand : kernel->plan().inPlace[0])
      compare(caller.run(randomPieces(grid, random), operand, isa.name), expected[0], tolerance,
              isa.name + " in place");
  }
}
