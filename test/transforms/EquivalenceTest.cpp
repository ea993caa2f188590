//===- EquivalenceTest.cpp - passes do not change what a function computes -===//
//
// The reference evaluator (fp64, rounded per op) judges: every function of the pass tests in this folder, near misses
// included, gives the same numbers before and after the pipeline, on random inputs.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Evaluate.h"
#include "dialects/graph/Graph.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

namespace {

/// Weights of any file: one buffer of random floats, addressed by offset.
class RandomWeights : public WeightSource {
public:
  RandomWeights() : floats(1 << 16) {
    std::mt19937 random(7);
    for (float &f : floats)
      f = std::uniform_real_distribution<float>(-1, 1)(random);
  }
  ArrayRef<char> bytes(uint32_t, uint64_t offset, uint64_t length, Location) override {
    return ArrayRef(reinterpret_cast<const char *>(floats.data()), floats.size() * 4).slice(offset, length);
  }

private:
  std::vector<float> floats;
};

/// Floats in [-2, 2), integers in {0, 1}: valid as an index into every table of the tests and as a mask.
HostTensor randomTensor(RankedTensorType type, std::mt19937 &random) {
  HostTensor tensor = HostTensor::zeros(type);
  for (int64_t i = 0, n = tensor.elementCount(); i < n; ++i)
    if (tensor.isFloat())
      tensor.floats()[i] = std::uniform_real_distribution<double>(-2, 2)(random);
    else
      tensor.ints()[i] = random() & 1;
  tensor.round();
  return tensor;
}

SmallVector<HostTensor> evaluate(func::FuncOp func, ArrayRef<HostTensor> arguments) {
  RandomWeights weights;
  SmallVector<HostTensor> results;
  EXPECT_TRUE(succeeded(evaluateRegion(func.getBody(), arguments, results, &weights))) << func.getName().str();
  return results;
}

/// 1e-5: recompositions round to fp32 once where the model did so up to ten times (eps 6e-8 each, amplified by norms).
void expectClose(const HostTensor &before, const HostTensor &after) {
  ASSERT_EQ(before.shape, after.shape);
  ASSERT_EQ(before.isFloat(), after.isFloat());
  for (int64_t i = 0, n = before.elementCount(); i < n; ++i) {
    if (!before.isFloat()) {
      ASSERT_EQ(before.ints()[i], after.ints()[i]) << "element " << i;
      continue;
    }
    double a = before.floats()[i], b = after.floats()[i];
    if ((std::isnan(a) && std::isnan(b)) || a == b)
      continue;
    ASSERT_NEAR(a, b, 1e-5 * std::max(1.0, std::abs(a))) << "element " << i;
  }
}

class EquivalenceTest : public testing::TestWithParam<const char *> {
protected:
  EquivalenceTest() { context.loadDialect<GraphDialect, func::FuncDialect>(); }

  static void SetUpTestSuite() { transforms::registerTransformsPasses(); }

  void check(llvm::function_ref<void(transforms::GraphPipelineOptions &)> configure) {
    std::string path = std::string(GAUDI_TEST_DIR) + "/" + GetParam() + ".mlir";
    OwningOpRef<ModuleOp> before = parseSourceFile<ModuleOp>(path, &context);
    ASSERT_TRUE(before);
    OwningOpRef<ModuleOp> after = before->clone();
    PassManager manager(&context);
    transforms::GraphPipelineOptions options;
    configure(options);
    transforms::buildGraphPipeline(manager, options);
    ASSERT_TRUE(succeeded(manager.run(*after)));
    std::mt19937 random(3);
    for (auto func : before->getOps<func::FuncOp>()) {
      SCOPED_TRACE(func.getName().str());
      SmallVector<HostTensor> arguments;
      for (Type type : func.getArgumentTypes())
        arguments.push_back(randomTensor(cast<RankedTensorType>(type), random));
      auto expected = evaluate(func, arguments),
           found = evaluate(after->lookupSymbol<func::FuncOp>(func.getName()), arguments);
      ASSERT_EQ(expected.size(), found.size());
      for (auto [a, b] : llvm::zip(expected, found))
        expectClose(a, b);
    }
  }

  MLIRContext context;
};

TEST_P(EquivalenceTest, WholePipeline) {
  check([](transforms::GraphPipelineOptions &) {});
}

TEST_P(EquivalenceTest, WithoutRecomposition) {
  check([](transforms::GraphPipelineOptions &options) { options.recompose = false; });
}

TEST_P(EquivalenceTest, CompositesTakenApartAgain) {
  check([](transforms::GraphPipelineOptions &options) {
    for (const char *name : {"softmax", "layer_norm", "rms_norm", "attention"})
      options.decompose.push_back(name);
  });
}

/// A second run of a pass changes nothing.
TEST_P(EquivalenceTest, PassesAreIdempotent) {
  std::string path = std::string(GAUDI_TEST_DIR) + "/" + GetParam() + ".mlir";
  for (const char *pass :
       {"specialize-shapes", "fold-constants", "simplify", "recompose-norms", "recompose-activations",
        "recompose-softmax", "recompose-attention", "decompose-composites", "form-groups"}) {
    SCOPED_TRACE(pass);
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
    std::string texts[2];
    for (std::string &text : texts) {
      PassManager manager(&context);
      ASSERT_TRUE(succeeded(parsePassPipeline((Twine("func.func(") + pass + ")").str(), manager)));
      ASSERT_TRUE(succeeded(manager.run(*module)));
      llvm::raw_string_ostream(text) << *module;
    }
    EXPECT_TRUE(texts[0] == texts[1]) << "second run gave:\n" << texts[1];
  }
}

INSTANTIATE_TEST_SUITE_P(PassTests, EquivalenceTest,
                         testing::Values("recompose-norms", "recompose-activations", "recompose-softmax",
                                         "recompose-attention", "simplify", "fold-constants", "form-groups",
                                         "graph-pipeline"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
