//===- DriverTest.h - modules for the tests of the driver's steps -*- C++ -*-===//
#pragma once

#include "lib/Driver/Frame.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

namespace gaudi::test {

/// A context with the dialects of the grouped and the rt stage.
struct DriverTest : testing::Test {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module, frame;

  DriverTest() { context.loadDialect<graph::GraphDialect, rt::RtDialect, mlir::func::FuncDialect>(); }

  mlir::func::FuncOp parse(llvm::StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << "the test's text does not parse";
    return module ? *module->getOps<mlir::func::FuncOp>().begin() : mlir::func::FuncOp();
  }

  /// The frame of the module's function: each group gets a kernel called after its kind and its number.
  mlir::func::FuncOp frameOf(llvm::StringRef text) {
    mlir::func::FuncOp main = parse(text);
    driver::materializeResults(main);
    driver::GroupKernels kernels;
    for (auto group : main.getOps<graph::GroupOp>()) {
      driver::GroupKernel kernel;
      kernel.symbol = "k" + std::to_string(kernels.size());
      kernel.inputPanels.resize(group.getInputs().size());
      kernel.inPlace.resize(group->getNumResults());
      if (change)
        change(group, kernel);
      kernels[group] = kernel;
    }
    frame = driver::buildFrame(main, kernels);
    return frame ? *frame->getOps<mlir::func::FuncOp>().begin() : mlir::func::FuncOp();
  }
  /// What a test wants to be different about the kernels.
  std::function<void(graph::GroupOp, driver::GroupKernel &)> change;

  template <typename OpT> static llvm::SmallVector<OpT> all(mlir::func::FuncOp entry) {
    return llvm::to_vector(entry.getOps<OpT>());
  }
};

} // namespace gaudi::test
