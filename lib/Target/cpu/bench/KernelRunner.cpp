//===- KernelRunner.cpp - one group, compiled and called in this process --===//
#include "lib/Target/cpu/bench/KernelRunner.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;

GroupModule::GroupModule(MLIRContext &context, llvm::StringRef kind, llvm::ArrayRef<Operand> operands, Body body) {
  OpBuilder b(&context);
  Location loc = b.getUnknownLoc();
  module = ModuleOp::create(loc);
  b.setInsertionPointToStart(module->getBody());
  SmallVector<Type> inputs;
  for (const Operand &o : operands)
    if (!o.constant)
      inputs.push_back(o.type);
  func = func::FuncOp::create(b, loc, "main", b.getFunctionType(inputs, {}));
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  SmallVector<Value> values;
  unsigned next = 0;
  for (const Operand &o : operands) {
    if (!o.constant) {
      values.push_back(entry->getArgument(next++));
      continue;
    }
    auto zero = cast<TypedAttr>(b.getZeroAttr(o.type)); // only marks the operand: its values come with the call
    values.push_back(graph::ConstantOp::create(b, loc, o.type, zero));
  }
  // The group's result type is known once its body is there.
  auto block = std::make_unique<Block>();
  for (const Operand &o : operands)
    block->addArgument(o.type, loc);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block.get());
    Value result = body(b, loc, block->getArguments());
    graph::YieldOp::create(b, loc, result);
  }
  Type result = block->getTerminator()->getOperand(0).getType();
  groupOp = graph::GroupOp::create(b, loc, TypeRange{result}, values, b.getStringAttr(kind));
  groupOp.getBody().push_back(block.release());
  func::ReturnOp::create(b, loc, groupOp.getResults());
  func.setFunctionType(b.getFunctionType(inputs, result));
}

void LoadedKernel::Unload::operator()(void *handle) const {
  dlclose(handle);
  close(fd);
}

Expected<LoadedKernel> LoadedKernel::build(GroupModule &module, const Isa &isa, unsigned threads,
                                           llvm::raw_ostream *printLlvm) {
  BuildOptions options;
  options.threads = threads;
  options.printLlvm = printLlvm;
  Expected<BuildResult> built = buildKernels(module.function(), isa, options);
  if (!built.ok())
    return built.takeStatus();
  BuildResult result = built.take();
  int fd = memfd_create("kernel", MFD_CLOEXEC);
  if (fd < 0 || write(fd, result.code.data(), result.code.size()) != static_cast<ssize_t>(result.code.size()))
    return Status::error(StatusCode::Internal, "cannot write the kernel to memory");
  LoadedKernel loaded;
  loaded.library = {dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL), Unload{fd}};
  loaded.kernel = std::move(result.kernels.front());
  if (loaded.library)
    loaded.fn = reinterpret_cast<KernelFn>(dlsym(loaded.library.get(), loaded.kernel.symbol.c_str()));
  if (!loaded.fn)
    return Status::error(StatusCode::Internal, std::string("cannot load the kernel: ") + dlerror());
  return std::move(loaded);
}

std::vector<char> cpu::packPanels(ArrayRef<char> matrix, const PanelLayout &layout, unsigned elementBytes) {
  int64_t width = layout.panel, panels = llvm::divideCeil(layout.n, width);
  std::vector<char> packed(static_cast<size_t>(panels * layout.k * width * elementBytes));
  for (int64_t k = 0; k < layout.k; ++k)
    for (int64_t n = 0; n < layout.n; ++n) {
      int64_t from = layout.transposed ? n * layout.k + k : k * layout.n + n;
      int64_t to = (n / width * layout.k + k) * width + n % width;
      memcpy(packed.data() + to * elementBytes, matrix.data() + from * elementBytes, elementBytes);
    }
  return packed;
}
