// Composites: their own evaluation against the evaluation of their decomposition, on random inputs; matmul against the
// definition; the evaluator's handling of weights and groups.
#include "dialects/graph/Evaluate.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace gaudi::graph;

namespace {

class EvaluateTest : public testing::Test {
protected:
  EvaluateTest() { context.loadDialect<GraphDialect, func::FuncDialect>(); }

  OwningOpRef<ModuleOp> parse(const std::string &text) { return parseSourceString<ModuleOp>(text, &context); }

  static func::FuncOp function(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

  /// Uniform in [-2, 2], ints in [0, 1]: good for scores, masks and flags.
  SmallVector<HostTensor> randomArguments(func::FuncOp function) {
    std::uniform_real_distribution<double> real(-2, 2);
    SmallVector<HostTensor> arguments;
    for (Type type : function.getArgumentTypes()) {
      HostTensor t = HostTensor::zeros(cast<RankedTensorType>(type));
      if (t.isFloat())
        for (double &x : t.floats())
          x = real(random);
      else
        for (int64_t &x : t.ints())
          x = static_cast<int64_t>(random() % 2);
      t.round();
      arguments.push_back(std::move(t));
    }
    return arguments;
  }

  static HostTensor evaluate(func::FuncOp function, ArrayRef<HostTensor> arguments) {
    SmallVector<HostTensor> results;
    EXPECT_TRUE(succeeded(evaluateRegion(function.getBody(), arguments, results, nullptr)));
    return results.empty() ? HostTensor() : results[0];
  }

  /// All composites to primitives, repeatedly; checks that none is left and that the module is valid.
  static void decomposeAll(ModuleOp module) {
    SmallVector<GraphOpInterface> ops;
    do {
      ops.clear();
      module.walk([&](GraphOpInterface op) {
        if (isa<SoftmaxOp, LayerNormOp, RmsNormOp, AttentionOp>(op))
          ops.push_back(op);
      });
      for (GraphOpInterface op : ops) {
        OpBuilder builder(op);
        FailureOr<SmallVector<Value>> values = op.decompose(builder);
        ASSERT_TRUE(succeeded(values));
        for (auto [old, value] : llvm::zip_equal(op->getResults(), *values))
          ASSERT_EQ(old.getType(), value.getType());
        op->replaceAllUsesWith(*values);
        op->erase();
      }
    } while (!ops.empty());
    ASSERT_TRUE(succeeded(verify(module)));
  }

  /// Runs @f before and after decomposition.
  void compare(const std::string &text, double tolerance) {
    OwningOpRef<ModuleOp> module = parse(text);
    ASSERT_TRUE(module) << text;
    SmallVector<HostTensor> arguments = randomArguments(function(*module));
    HostTensor whole = evaluate(function(*module), arguments);
    decomposeAll(*module);
    HostTensor parts = evaluate(function(*module), arguments);
    ASSERT_EQ(whole.shape, parts.shape);
    for (size_t i = 0; i < whole.floats().size(); ++i) {
      double a = whole.floats()[i], b = parts.floats()[i];
      bool close = std::isnan(a) ? std::isnan(b) : std::fabs(a - b) <= tolerance * std::max(1.0, std::fabs(a));
      ASSERT_TRUE(close) << "element " << i << ": " << a << " vs " << b << " in\n" << text;
    }
  }

  MLIRContext context;
  std::mt19937_64 random{42};
};

/// A few roundings to the type on the way; 16-bit types are rounded once at the end, but to either neighbour.
double toleranceOf(StringRef type) {
  return type == "f32" ? 0x1p-20 : type == "f64" ? 1e-13 : type == "f16" ? 0x1p-10 : 0x1p-7;
}

TEST_F(EvaluateTest, Softmax) {
  for (const char *type : {"f32", "f16", "bf16", "f64"})
    for (const char *shape : {"5x7x3x", "1x1x1x", "2x0x3x"})
      for (int axis : {0, 1, 2})
        for (const char *log : {"", ", log"}) {
          std::string t = std::string("tensor<") + shape + type + ">";
          compare("func.func @f(%x: " + t + ") -> " + t + " { %y = graph.softmax %x {axis = " + std::to_string(axis) +
                      " : i64" + log + "} : " + t + " -> " + t + " return %y : " + t + " }",
                  2 * toleranceOf(type)); // log: one more rounding of a larger number
        }
}

TEST_F(EvaluateTest, Norms) {
  for (const char *type : {"f32", "f16", "bf16", "f64"})
    for (const char *affine : {"7x3x", "3x", "7x1x", "1x"})
      for (bool scaled : {true, false})
        for (bool biased : {true, false}) {
          std::string t = std::string("tensor<5x7x3x") + type + ">", a = std::string("tensor<") + affine + type + ">";
          std::string scale = scaled ? " scale(%s : " + a + ")" : "", bias = biased ? " bias(%s : " + a + ")" : "";
          std::string head = "func.func @f(%x: " + t + ", %s: " + a + ") -> " + t + " { %y = graph.";
          std::string tail =
              " {axis = 1 : i64, epsilon = 1.0e-5 : f64} : " + t + " -> " + t + " return %y : " + t + " }";
          compare(head + "layer_norm %x" + scale + bias + tail, 2 * toleranceOf(type));
          if (!biased)
            compare(head + "rms_norm %x" + scale + tail, 2 * toleranceOf(type));
        }
}

struct AttentionCase {
  const char *type;
  int heads, kvHeads, queries, keys;
  bool headsFirst;
  const char *mask; // dims and type, or null
  const char *flags;

  std::string text() const {
    auto dims = [&](int h, int s, int d) {
      int first = headsFirst ? h : s, second = headsFirst ? s : h;
      return "tensor<2x" + std::to_string(first) + "x" + std::to_string(second) + "x" + std::to_string(d) + "x" + type +
             ">";
    };
    std::string q = dims(heads, queries, 5), k = dims(kvHeads, keys, 5), v = dims(kvHeads, keys, 3),
                o = dims(heads, queries, 3);
    std::string m = mask ? std::string("tensor<") + mask + ">" : "";
    return "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v + (mask ? ", %m: " + m : "") + ") -> " + o +
           " { %y = graph.attention %q, %k, %v" + (mask ? " mask(%m : " + m + ")" : "") + " {scale = 0.7 : f64" +
           (headsFirst ? ", heads_first" : "") + flags + "} : " + q + ", " + k + ", " + v + " -> " + o +
           " return %y : " + o + " }";
  }
};

TEST_F(EvaluateTest, Attention) {
  for (const char *type : {"f32", "bf16"})
    for (auto [heads, kvHeads] : {std::pair(4, 4), {4, 2}, {6, 1}})
      for (auto [queries, keys] : {std::pair(7, 7), {3, 7}, {7, 3}, {1, 5}, {0, 3}, {3, 0}})
        for (bool headsFirst : {false, true})
          for (const char *flags :
               {"", ", causal", ", causal, bottom_right", ", causal, bottom_right, zero_masked_rows"})
            compare(AttentionCase{type, heads, kvHeads, queries, keys, headsFirst, nullptr, flags}.text(),
                    2 * toleranceOf(type));
}

// Random bool masks leave some of the short rows empty: NaN, or zero on request, on both sides.
TEST_F(EvaluateTest, AttentionMasks) {
  for (const char *mask : {"7x2xi1", "2x1x1x2xi1", "4x7x2xi1", "1x2xf32", "2x4x7x2xf32", "2xf32"})
    for (bool headsFirst : {false, true})
      for (const char *flags : {"", ", zero_masked_rows", ", causal, zero_masked_rows"})
        for (int repeat = 0; repeat < 3; ++repeat)
          compare(AttentionCase{"f32", 4, 2, 7, 2, headsFirst, mask, flags}.text(), 2 * toleranceOf("f32"));
}

// The definition, on sizes around the blocks of the evaluator (4 rows, 512 columns) and with broadcast batches.
TEST_F(EvaluateTest, MatMul) {
  struct Size {
    int64_t m, n, k;
  };
  for (auto [m, n, k] : {Size{1, 1, 1}, {4, 512, 3}, {5, 513, 2}, {7, 3, 0}, {0, 3, 5}, {3, 1025, 1}})
    for (bool flipA : {false, true})
      for (bool flipB : {false, true}) {
        auto dims = [](int64_t batch, int64_t rows, int64_t cols, bool flip) {
          return "tensor<" + std::to_string(batch) + "x" + std::to_string(flip ? cols : rows) + "x" +
                 std::to_string(flip ? rows : cols) + "xf64>";
        };
        std::string a = dims(3, m, k, flipA), b = dims(1, k, n, flipB), c = dims(3, m, n, false);
        OwningOpRef<ModuleOp> module =
            parse("func.func @f(%a: " + a + ", %b: " + b + ") -> " + c + " { %c = graph.matmul %a, %b {" +
                  (flipA ? "transpose_lhs" : "") + (flipA && flipB ? ", " : "") + (flipB ? "transpose_rhs" : "") +
                  "} : " + a + ", " + b + " -> " + c + " return %c : " + c + " }");
        ASSERT_TRUE(module);
        SmallVector<HostTensor> in = randomArguments(function(*module));
        HostTensor out = evaluate(function(*module), in);
        for (int64_t s = 0; s < 3; ++s)
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              double sum = 0;
              for (int64_t p = 0; p < k; ++p)
                sum += in[0].floats()[s * m * k + (flipA ? p * m + i : i * k + p)] *
                       in[1].floats()[flipB ? j * k + p : p * n + j];
              ASSERT_NEAR(out.floats()[(s * m + i) * n + j], sum, 1e-12);
            }
      }
}

class OneFile : public WeightSource {
public:
  ArrayRef<char> bytes(uint32_t file, uint64_t offset, uint64_t length, Location loc) override {
    if (file == 0 && offset + length <= content.size())
      return ArrayRef(content).slice(offset, length);
    emitError(loc) << "no such bytes";
    return {};
  }
  std::vector<char> content = {9, 9, 1, 2, 3};
};

TEST_F(EvaluateTest, WeightsAreReadByReference) {
  OwningOpRef<ModuleOp> module = parse(R"(func.func @f() -> tensor<3xi8> {
    %w = graph.constant #graph.weight<"w", 0, 2, 3> : tensor<3xi8>
    %y = graph.group "pointwise"(%w) : (tensor<3xi8>) -> tensor<3xi8> {
    ^bb0(%a: tensor<3xi8>):
      %v = graph.constant #graph.weight<"v", 0, 0, 1> : tensor<1xi8>
      %s = graph.binary add %a, %v : tensor<3xi8>, tensor<1xi8> -> tensor<3xi8>
      graph.yield %s : tensor<3xi8>
    }
    return %y : tensor<3xi8>
  })");
  ASSERT_TRUE(module);
  OneFile file;
  SmallVector<HostTensor> results;
  int seen = 0;
  ASSERT_TRUE(succeeded(
      evaluateRegion(function(*module).getBody(), {}, results, &file, [&](OpResult, const HostTensor &) { ++seen; })));
  EXPECT_EQ(results[0].ints(), (std::vector<int64_t>{10, 11, 12}));
  EXPECT_EQ(seen, 4); // w, v, s and the group's result
}

TEST_F(EvaluateTest, MissingWeightIsADiagnostic) {
  OwningOpRef<ModuleOp> module = parse(R"(func.func @f() -> tensor<4xi8> {
    %w = graph.constant #graph.weight<"w", 0, 2, 4> : tensor<4xi8>
    return %w : tensor<4xi8>
  })");
  ASSERT_TRUE(module);
  OneFile file;
  SmallVector<HostTensor> results;
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) { message = d.str(); });
  EXPECT_TRUE(failed(evaluateRegion(function(*module).getBody(), {}, results, &file)));
  EXPECT_EQ(message, "no such bytes");
  auto constant = *function(*module).getOps<ConstantOp>().begin();
  EXPECT_FALSE(constantValue(constant.getResult()).has_value());
}

TEST_F(EvaluateTest, CostCountsMultiplyAdds) {
  OwningOpRef<ModuleOp> module =
      parse(R"(func.func @f(%a: tensor<2x3x5xf32>, %b: tensor<5x7xf32>) -> tensor<2x3x7xf32> {
    %c = graph.matmul %a, %b : tensor<2x3x5xf32>, tensor<5x7xf32> -> tensor<2x3x7xf32>
    return %c : tensor<2x3x7xf32>
  })");
  Cost cost = cast<GraphOpInterface>(&*function(*module).getBody().front().begin()).cost();
  EXPECT_EQ(cost.flops, 2.0 * 2 * 3 * 7 * 5);
  EXPECT_EQ(cost.bytes, 4.0 * (30 + 35 + 42));
}

} // namespace
