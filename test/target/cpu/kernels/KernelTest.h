//===- KernelTest.h - a kernel against the reference evaluator ------------===//
#pragma once

#include "dialects/graph/Evaluate.h"
#include "lib/Target/cpu/bench/KernelRunner.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <type_traits>

namespace gaudi::cpu::test {

/// |actual - expected| <= absolute + relative * |expected|; NaN equals NaN, infinities must agree.
struct Tolerance {
  double absolute = 1e-5, relative = 1e-5;
};

/// The ISA levels that this machine can run: every test runs on all of them.
const std::vector<Isa> &testedIsas();

class KernelTest : public testing::Test {
protected:
  KernelTest();

  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape, mlir::Type element = {});
  mlir::Type f32() { return mlir::Float32Type::get(&context); }
  mlir::Type f16() { return mlir::Float16Type::get(&context); }
  mlir::Type bf16() { return mlir::BFloat16Type::get(&context); }
  mlir::Type i1() { return mlir::IntegerType::get(&context, 1); }

  /// Values of an operand; default: uniform in [-1, 1] (bool: either).
  using Fill = std::function<void(graph::HostTensor &)>;
  struct Input {
    mlir::RankedTensorType type;
    bool constant = false;
    Fill fill = nullptr;
  };

  /// Builds the group, compiles it for every ISA, and runs it three ways: whole, in random pieces of the grid in random
  /// order, and in place where the plan allows it. Outputs and inputs lie at element alignment between guard bytes; the
  /// scratch starts as NaNs. `kind`: the emitter expected to take the group.
  void check(llvm::StringRef kind, std::vector<Input> inputs, GroupModule::Body body, Tolerance tolerance = {});

  /// Runs whole arrays, one per operand, through the pointwise kernel of `body`, `batch` elements at a time (which
  /// divides their size).
  template <typename T>
  std::vector<T> runPointwise(const Isa &isa, llvm::ArrayRef<std::vector<T>> arguments, int64_t batch,
                              GroupModule::Body body) {
    mlir::Type element = std::is_same_v<T, double> ? mlir::Type(mlir::Float64Type::get(&context)) : f32();
    llvm::SmallVector<GroupModule::Operand> operands(arguments.size(), {type({batch}, element)});
    GroupModule module(context, "pointwise", operands, body);
    gaudi::Expected<LoadedKernel> kernel = LoadedKernel::build(module, isa, 1);
    EXPECT_TRUE(kernel.ok()) << kernel.status().message();
    std::vector<T> result(arguments[0].size());
    std::vector<char> scratch(kernel->plan().scratchBytes + 64);
    for (size_t at = 0; at < result.size(); at += batch) {
      std::vector<void *> args;
      for (const std::vector<T> &a : arguments)
        args.push_back(const_cast<T *>(a.data() + at));
      args.push_back(result.data() + at);
      EXPECT_EQ((*kernel)(args.data(), 0, kernel->plan().grid, scratch.data()), 0);
    }
    return result;
  }

  mlir::MLIRContext context;
  std::mt19937 random{7};
  unsigned threads = 2;
  uint64_t l2Bytes = 0; ///< instead of the machine's, if set
};

/// Builders of the ops that tests use.
mlir::Value unary(mlir::OpBuilder &b, mlir::Location loc, graph::UnaryKind kind, mlir::Value x);
mlir::Value binary(mlir::OpBuilder &b, mlir::Location loc, graph::BinaryKind kind, mlir::Value x, mlir::Value y);

} // namespace gaudi::cpu::test
