//===- AttentionTest.cpp - the fused attention kernel ---------------------===//
#include "test/target/cpu/kernels/KernelTest.h"

#include <cfloat>

using namespace mlir;
using namespace gaudi::cpu;
using namespace gaudi::cpu::test;
using gaudi::graph::HostTensor;
namespace graph = gaudi::graph;

namespace {

struct Shape {
  int64_t batch = 1, heads = 1, kvHeads = 1, queries = 1, keys = 1, depth = 8, valueDepth = 8;
};

struct Flags {
  bool headsFirst = false, causal = false, bottomRight = false, zeroMasked = false;
};

class AttentionTest : public KernelTest {
protected:
  void attend(Shape s, Flags f, std::optional<Input> mask = {}, Type element = {}, Tolerance tolerance = {2e-6, 2e-5},
              Fill fillQuery = nullptr) {
    SCOPED_TRACE(testing::Message() << s.batch << "x" << s.heads << "/" << s.kvHeads << "x" << s.queries << "x"
                                    << s.keys << " d" << s.depth << "/" << s.valueDepth << (f.causal ? " causal" : ""));
    auto operand = [&](int64_t heads, int64_t rows, int64_t depth) {
      return f.headsFirst ? type({s.batch, heads, rows, depth}, element) : type({s.batch, rows, heads, depth}, element);
    };
    auto spread = [](HostTensor &t) { // scores of a few units, so that the softmax is not flat
      for (double &x : t.floats())
        x *= 3;
    };
    std::vector<Input> inputs = {{operand(s.heads, s.queries, s.depth), false, fillQuery ? fillQuery : Fill(spread)},
                                 {operand(s.kvHeads, s.keys, s.depth)},
                                 {operand(s.kvHeads, s.keys, s.valueDepth)}};
    if (mask)
      inputs.push_back(*mask);
    check(
        "attention", inputs,
        [&](OpBuilder &b, Location loc, ValueRange a) -> Value {
          return graph::AttentionOp::create(b, loc, a[0], a[1], a[2], mask ? a[3] : Value(),
                                            llvm::APFloat(1 / std::sqrt(double(s.depth))), f.headsFirst, f.causal,
                                            f.bottomRight, f.zeroMasked);
        },
        tolerance);
  }
  /// Mask values drawn from the list.
  Fill from(std::vector<double> values) {
    return [this, values](HostTensor &t) {
      for (double &x : t.floats())
        x = values[random() % values.size()];
    };
  }
};

TEST_F(AttentionTest, Shapes) {
  for (bool headsFirst : {false, true})
    for (Shape s : {Shape{1, 1, 1, 1, 1, 1, 1}, Shape{2, 3, 3, 5, 7, 8, 8}, Shape{1, 2, 2, 33, 65, 16, 24},
                    Shape{2, 2, 1, 13, 31, 5, 11}, Shape{1, 4, 2, 40, 40, 64, 64}, Shape{1, 1, 1, 130, 20, 40, 80}})
      attend(s, {.headsFirst = headsFirst});
}

TEST_F(AttentionTest, ManyKeyBlocks) {
  attend({1, 1, 1, 9, 1100, 8, 8}, {});
  attend({1, 2, 1, 37, 1031, 16, 16}, {.causal = true, .bottomRight = true});
  attend({1, 1, 1, 600, 600, 4, 4}, {.causal = true});
  attend({1, 1, 1, 20, 600, 256, 256}, {}); // blocks shrink to bound the scratch
}

TEST_F(AttentionTest, FloatMasksBroadcastEveryWay) {
  Shape s{2, 3, 3, 14, 35, 8, 8};
  for (std::vector<int64_t> dims : {std::vector<int64_t>{2, 1, 1, 35},
                                    {1, 1, 14, 35},
                                    {2, 1, 14, 35},
                                    {2, 3, 14, 35},
                                    {14, 35},
                                    {35},
                                    {2, 3, 14, 1},
                                    {1},
                                    {3, 1, 35}})
    attend(s, {}, Input{type(dims), false, from({0, 0, -30, -1.5, 2})});
}

TEST_F(AttentionTest, BoolMasks) {
  Shape s{2, 2, 2, 14, 35, 8, 8};
  for (std::vector<int64_t> dims : {std::vector<int64_t>{2, 1, 1, 35}, {1, 1, 14, 35}, {2, 2, 14, 35}, {2, 2, 14, 1}})
    attend(s, {}, Input{type(dims, i1())});
}

TEST_F(AttentionTest, CausalVariants) {
  for (bool bottomRight : {false, true})
    for (bool zero : {false, true})
      for (auto [queries, keys] :
           std::vector<std::pair<int64_t, int64_t>>{{32, 32}, {7, 40}, {40, 7}, {1, 9}, {45, 45}})
        attend({1, 2, 2, queries, keys, 8, 8}, {.causal = true, .bottomRight = bottomRight, .zeroMasked = zero});
}

TEST_F(AttentionTest, RowsOfNothing) {
  for (bool zero : {false, true}) {
    auto hideRows = [](HostTensor &t) {
      for (int64_t i = 0; i < t.elementCount(); ++i)
        t.floats()[i] = i / t.shape.back() % 3 == 0 ? -INFINITY : 0;
    };
    attend({1, 1, 1, 9, 33, 8, 8}, {.zeroMasked = zero}, Input{type({9, 33}), false, hideRows});
    attend({1, 1, 1, 9, 0, 8, 8}, {.zeroMasked = zero});
  }
}

TEST_F(AttentionTest, FirstKeyBlocksHidden) {
  // -inf in all of the first block and more: later blocks must still count.
  auto hideFront = [](HostTensor &t) {
    for (int64_t i = 0; i < t.elementCount(); ++i)
      t.floats()[i] = i % t.shape.back() < 700 ? -INFINITY : 0;
  };
  attend({1, 1, 1, 5, 1300, 8, 8}, {}, Input{type({1, 1, 1, 1300}), false, hideFront});
}

TEST_F(AttentionTest, MostNegativeMaskIsUniformNotNaN) {
  auto lowest = [](HostTensor &t) {
    for (double &x : t.floats())
      x = -FLT_MAX;
  };
  attend({1, 1, 1, 3, 20, 8, 8}, {}, Input{type({1, 1, 1, 20}), false, lowest});
}

TEST_F(AttentionTest, NonFiniteQueriesStayInTheirRow) {
  auto poison = [](HostTensor &t) { t.floats()[11] = std::nan(""); };
  attend({1, 1, 1, 9, 40, 8, 8}, {}, {}, {}, {2e-6, 2e-5}, poison);
}

TEST_F(AttentionTest, SixteenBit) {
  // P is not rounded to 16 bits inside, the inputs and the result are.
  attend({2, 2, 1, 17, 33, 24, 24}, {}, {}, f16(), {1e-3, 2e-3});
  attend({2, 2, 1, 17, 33, 24, 20}, {.causal = true}, {}, bf16(), {8e-3, 1e-2});
  attend({1, 2, 2, 9, 40, 16, 16}, {}, Input{type({1, 1, 9, 40}, bf16()), false, from({0, -10000, 1})}, bf16(),
         {8e-3, 1e-2});
}

TEST_F(AttentionTest, ManyWorkersCutQueries) {
  threads = 64;
  attend({1, 2, 2, 200, 48, 8, 8}, {});
}

} // namespace
