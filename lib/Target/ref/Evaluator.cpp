//===- Evaluator.cpp - libgaudi_ref.so: runs the code of the ref target ---===//
#include "dialects/graph/Evaluate.h"
#include "dialects/graph/Graph.h"
#include "runtime/device/ref/RefAbi.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace gaudi;

struct gaudi::ref::Program {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  std::vector<func::FuncOp> kernels;
};

namespace {

/// The first diagnostic of a scope.
class FirstError {
public:
  FirstError(MLIRContext &context, char *error, size_t size)
      : handler(&context, [error, size](Diagnostic &d) {
          std::string text = d.str();
          if (size && !*error)
            error[text.copy(error, size - 1)] = 0;
        }) {}

private:
  ScopedDiagnosticHandler handler;
};

uint64_t sizeBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return static_cast<uint64_t>(tensor.getNumElements()) * ((tensor.getElementTypeBitWidth() + 7) / 8);
}

bool isKernel(func::FuncOp func) {
  auto isStatic = [](Type type) {
    return isa<RankedTensorType>(type) && cast<RankedTensorType>(type).hasStaticShape();
  };
  return !func.isExternal() && func.getBody().hasOneBlock() && llvm::all_of(func.getArgumentTypes(), isStatic) &&
         llvm::all_of(func.getResultTypes(), isStatic);
}

ref::Program *openProgram(const char *text, size_t size, char *error, size_t errorSize) {
  auto program = std::make_unique<ref::Program>();
  program->context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  FirstError first(program->context, error, errorSize);
  program->module = parseSourceString<ModuleOp>(StringRef(text, size), ParserConfig(&program->context));
  if (!program->module)
    return nullptr;
  for (auto func : program->module->getOps<func::FuncOp>())
    if (isKernel(func))
      program->kernels.push_back(func);
  return program.release();
}

void closeProgram(ref::Program *program) { delete program; }

int64_t findKernel(ref::Program *program, const char *symbol, const uint64_t *sizes, size_t count) {
  for (auto [i, kernel] : llvm::enumerate(program->kernels)) {
    if (kernel.getName() != symbol)
      continue;
    SmallVector<uint64_t> own;
    for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes()))
      own.push_back(sizeBytes(type));
    return ArrayRef(own) == ArrayRef(sizes, count) ? static_cast<int64_t>(i) : -1;
  }
  return -1;
}

bool launchKernel(ref::Program *program, int64_t index, void *const *args, char *error, size_t errorSize) {
  func::FuncOp kernel = program->kernels[index];
  FirstError first(program->context, error, errorSize);
  SmallVector<graph::HostTensor> operands, results;
  for (Type type : kernel.getArgumentTypes())
    operands.push_back(graph::HostTensor::fromBytes(cast<RankedTensorType>(type),
                                                    {static_cast<const char *>(*args++), sizeBytes(type)}));
  if (failed(graph::evaluateRegion(kernel.getBody(), operands, results, nullptr)))
    return false;
  for (const graph::HostTensor &result : results) {
    std::vector<char> bytes = result.toBytes();
    if (!bytes.empty())
      std::memcpy(*args, bytes.data(), bytes.size());
    ++args;
  }
  return true;
}

} // namespace

extern "C" __attribute__((visibility("default"))) const ref::Api gaudi_ref_api;
extern "C" const ref::Api gaudi_ref_api = {ref::kAbiVersion, openProgram, closeProgram, findKernel, launchKernel};
