//===- RowsTest.cpp - softmax, norms and what is fused around them --------===//
#include "test/target/cpu/KernelHarness.h"

#include <gtest/gtest.h>

using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::cpu::test;

namespace {

const char *const kCpus[] = {"native", "x86-64-v3", "x86-64-v2"};

std::string type(int64_t rows, int64_t n, const std::string &element = "f32") {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(n) + "x" + element + ">";
}

Case rows(const std::string &op, std::vector<std::string> inputs, const std::string &result) {
  Case c;
  c.kind = "rows";
  c.inputs = std::move(inputs);
  c.results = {result};
  c.body = "    %r0 = " + op + " -> " + result;
  c.tolerance = {2e-6, 1e-5};
  return c;
}

Case softmax(const std::string &t, bool log = false) {
  return rows("graph.softmax %0 {axis = 1" + std::string(log ? ", log" : "") + "} : " + t, {t}, t);
}

Case layerNorm(int64_t count, int64_t n, const std::string &element = "f32") {
  std::string t = type(count, n, element), p = "tensor<" + std::to_string(n) + "x" + element + ">";
  return rows("graph.layer_norm %0 scale(%1 : " + p + ") bias(%2 : " + p + ") {axis = 1, epsilon = 1.0e-5} : " + t,
              {t, p, p}, t);
}

} // namespace

TEST(Softmax, EveryLengthTypeAndCpu) {
  for (const char *cpu : kCpus)
    for (int64_t n : {1, 2, 7, 16, 17, 64, 77, 128, 251, 1000})
      for (const char *element : {"f32", "f16", "bf16"})
        for (bool log : {false, true}) {
          if (n > 100 && element[0] != 'f')
            continue;
          Case c = softmax(type(3, n, element), log);
          c.cpu = cpu;
          EXPECT_EQ(check(c), "") << n << " " << element << log << " " << cpu;
        }
}

TEST(Softmax, SpecialValues) {
  for (const char *cpu : kCpus)
    for (uint32_t seed = 0; seed < 8; ++seed)
      for (bool log : {false, true}) {
        Case c = softmax(type(9, 19), log); // some rows without a NaN
        c.fills = {Fill::Special};
        c.cpu = cpu;
        EXPECT_EQ(check(c, seed), "") << seed << log << cpu;
      }
}

TEST(Softmax, EmptyRowsAndNoRows) { EXPECT_EQ(check(softmax(type(0, 5))), ""); }

TEST(LayerNorm, EveryLengthTypeAndCpu) {
  for (const char *cpu : kCpus)
    for (int64_t n : {1, 2, 7, 16, 33, 77, 128, 251, 768})
      for (const char *element : {"f32", "f16", "bf16"}) {
        Case c = layerNorm(4, n, element);
        c.cpu = cpu;
        c.tolerance = {2e-5, 2e-5};
        EXPECT_EQ(check(c), "") << n << " " << element << " " << cpu;
      }
}

/// x + 1e4: the variance must not cancel, nor the rounded mean shift every element.
TEST(LayerNorm, LargeMean) {
  for (const char *cpu : kCpus) {
    std::string t = type(5, 768);
    Case c = rows("graph.layer_norm %s {axis = 1, epsilon = 1.0e-5} : " + t, {t}, t);
    c.body = "%k = graph.constant dense<1.0e4> : tensor<f32>\n%s = graph.binary add %0, %k : " + t +
             ", tensor<f32> -> " + t + "\n" + c.body;
    c.cpu = cpu;
    c.tolerance = {1e-3, 1e-3}; // x + 1e4 itself is rounded to 1e-3
    EXPECT_EQ(check(c), "") << cpu;
    // Without the addition inside: inputs exact, so the result is too.
    Case exact = rows("graph.layer_norm %0 {axis = 1, epsilon = 1.0e-5} : " + t, {t}, t);
    exact.offset = 16384;
    exact.cpu = cpu;
    exact.tolerance = {2e-5, 2e-5};
    EXPECT_EQ(check(exact), "") << cpu;
  }
}

TEST(LayerNorm, SeveralDimsAndBroadcastParameters) {
  Case c;
  c.kind = "rows";
  c.inputs = {"tensor<2x3x5x8xf32>", "tensor<5x8xf32>", "tensor<8xf32>"};
  c.results = {"tensor<2x3x5x8xf32>"};
  c.body = "%r0 = graph.layer_norm %0 scale(%1 : tensor<5x8xf32>) {axis = 2, epsilon = 1.0e-5} : tensor<2x3x5x8xf32> "
           "-> tensor<2x3x5x8xf32>";
  c.tolerance = {2e-5, 2e-5};
  EXPECT_EQ(check(c), "");
}

TEST(RmsNorm, LengthsAndSpecialValues) {
  for (int64_t n : {1, 5, 64, 77, 768})
    for (Fill fill : {Fill::Plain, Fill::Special}) {
      std::string t = type(6, n), p = "tensor<" + std::to_string(n) + "xf32>";
      Case c = rows("graph.rms_norm %0 scale(%1 : " + p + ") {axis = 1, epsilon = 1.0e-6} : " + t, {t, p}, t);
      c.fills = {n < 64 ? fill : Fill::Plain};
      if (c.fills[0] == Fill::Special)
        continue; // squares of 3e38 overflow f32 but not the evaluator's f64
      EXPECT_EQ(check(c), "") << n;
    }
}

TEST(RowsFusion, ResidualNormWithTwoResults) {
  Case c;
  c.kind = "rows";
  std::string t = "tensor<2x9x96xf32>";
  c.inputs = {t, t, "tensor<96xf32>"};
  c.results = {t, t};
  c.body = "%r0 = graph.binary add %0, %1 : " + t + ", " + t + " -> " + t +
           "\n%r1 = graph.layer_norm %r0 scale(%2 : tensor<96xf32>) {axis = 2, epsilon = 1.0e-12} : " + t + " -> " + t;
  c.tolerance = {2e-5, 2e-5};
  EXPECT_EQ(check(c), "");
}

TEST(RowsFusion, MaskedScaledSoftmax) {
  Case c;
  c.kind = "rows";
  std::string t = "tensor<2x3x7x21xf32>";
  c.inputs = {t, "tensor<2x1x1x21xf32>"};
  c.results = {t};
  c.body = "%k = graph.constant dense<0.125> : tensor<f32>\n%m = graph.binary mul %0, %k : " + t + ", tensor<f32> -> " +
           t + "\n%a = graph.binary add %m, %1 : " + t + ", tensor<2x1x1x21xf32> -> " + t +
           "\n%r0 = graph.softmax %a {axis = 3} : " + t + " -> " + t;
  for (const char *cpu : kCpus) {
    c.cpu = cpu;
    EXPECT_EQ(check(c), "") << cpu;
  }
}

TEST(RowsFusion, EmbeddingNorm) {
  Case c;
  c.kind = "rows";
  c.inputs = {"tensor<2x5xi64>", "tensor<31x40xf32>", "tensor<5x40xf32>"};
  c.fills = {Fill::Index};
  c.indexLimit = 31;
  c.results = {"tensor<2x5x40xf32>"};
  c.body = "%e = graph.gather %1, %0 {axis = 0} : tensor<31x40xf32>, tensor<2x5xi64> -> tensor<2x5x40xf32>\n"
           "%s = graph.binary add %e, %2 : tensor<2x5x40xf32>, tensor<5x40xf32> -> tensor<2x5x40xf32>\n"
           "%r0 = graph.layer_norm %s {axis = 2, epsilon = 1.0e-12} : tensor<2x5x40xf32> -> tensor<2x5x40xf32>";
  c.tolerance = {2e-5, 2e-5};
  EXPECT_EQ(check(c), "");
  c.fills = {Fill::Special};
  c.fault = KernelFault::IndexOutOfRange;
  EXPECT_EQ(check(c, 5), "");
}

/// A reduction, what follows it per row, and its broadcast back.
TEST(RowsFusion, ManualVariance) {
  Case c;
  c.kind = "rows";
  std::string t = "tensor<6x50xf32>", s = "tensor<6x1xf32>";
  c.inputs = {t};
  c.results = {t, s};
  c.body = "%m = graph.reduce mean %0 {axes = array<i64: 1>, keepdims} : " + t + " -> " + s +
           "\n%d = graph.binary sub %0, %m : " + t + ", " + s + " -> " + t +
           "\n%v = graph.reduce sumsq %d {axes = array<i64: 1>, keepdims} : " + t + " -> " + s +
           "\n%r1 = graph.unary rsqrt %v : " + s + " -> " + s + "\n%r0 = graph.binary mul %d, %r1 : " + t + ", " + s +
           " -> " + t;
  c.tolerance = {1e-5, 1e-5};
  EXPECT_EQ(check(c), "");
}

/// Softmax overwrites the row that served its input: who reads that input later (another row op, a result) must get it
/// from the op that made it.
TEST(RowsFusion, RowOpsShareARowOp) {
  std::string t = "tensor<4x19xf32>", s = "tensor<4x1xf32>";
  auto op = [&](const std::string &to, const std::string &text, const std::string &from) {
    return to + " = graph." + text.substr(0, text.find(' ')) + " " + from + " {axis = 1" +
           text.substr(text.find(' ') + 1) + "} : " + t + " -> " + t + "\n";
  };
  const std::string kinds[] = {"softmax ", "softmax , log", "layer_norm , epsilon = 0.1", "rms_norm , epsilon = 0.1"};
  for (const std::string &first : kinds)
    for (const std::string &second : kinds)
      for (const std::string &third : kinds) {
        Case c;
        c.kind = "rows";
        c.inputs = {t};
        c.results = {t, t, t, s};
        c.body = op("%a", first, "%0") + op("%b", second, "%a") + op("%r0", third, "%a") + op("%r1", first, "%b") +
                 "%m = graph.reduce max %a {axes = array<i64: 1>, keepdims} : " + t + " -> " + s +
                 "\n%r2 = graph.binary sub %a, %m : " + t + ", " + s + " -> " + t +
                 "\n%r3 = graph.unary exp %m : " + s + " -> " + s;
        c.tolerance = {1e-5, 1e-4};
        EXPECT_EQ(check(c), "") << c.body;
      }
}
