//===- ReduceTest.cpp - reductions, arg_reduce, cumsum, odd products ------===//
#include "test/target/cpu/KernelHarness.h"

#include <gtest/gtest.h>

using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::cpu::test;

namespace {

using Dims = std::vector<int64_t>;

std::string attr(const Dims &v) {
  std::string text;
  for (int64_t x : v)
    text += (text.empty() ? "" : ", ") + std::to_string(x);
  return "array<i64: " + text + ">";
}
std::string tensor(const Dims &dims, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t d : dims)
    text += std::to_string(d) + "x";
  return text + element + ">";
}

Case single(const std::string &op, std::vector<std::string> inputs, const std::string &result) {
  Case c;
  c.kind = "generic";
  std::string types;
  for (const std::string &t : inputs)
    types += (types.empty() ? "" : ", ") + t;
  c.inputs = std::move(inputs);
  c.results = {result};
  c.body = "    %r0 = graph." + op + " : " + types + " -> " + result;
  return c;
}

Case reduce(const std::string &kind, const Dims &from, const Dims &axes, bool keep, const std::string &element) {
  Dims to;
  for (int64_t i = 0; i < static_cast<int64_t>(from.size()); ++i) {
    bool gone = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!gone || keep)
      to.push_back(gone ? 1 : from[i]);
  }
  return single("reduce " + kind + " %0 {axes = " + attr(axes) + (keep ? ", keepdims}" : "}"), {tensor(from, element)},
                tensor(to, element));
}

} // namespace

TEST(Reduce, EveryKindAndType) {
  for (const char *element : {"f32", "f16", "bf16", "f64", "i8", "i32", "i64", "ui8", "ui32"})
    for (const char *kind : {"sum", "mean", "max", "min", "prod", "sumsq"})
      for (Dims axes : {Dims{1}, {0}}) {
        Case c = reduce(kind, {5, 37}, axes, false, element);
        c.tolerance = {1e-4, 1e-4};
        EXPECT_EQ(check(c), "") << kind << " " << element << " " << axes[0];
      }
}

TEST(Reduce, AxesAndShapes) {
  struct Row {
    Dims from, axes;
  };
  for (const Row &r : {Row{{4, 5, 6, 7}, {1, 2}},
                       {{4, 5, 6, 7}, {0, 3}},
                       {{4, 5, 6, 7}, {2, 3}},
                       {{4, 5, 6, 7}, {0, 1, 2, 3}},
                       {{3, 1000}, {1}},
                       {{1000, 3}, {0}},
                       {{2, 64, 8, 8}, {2, 3}},
                       {{1, 1}, {0}},
                       {{0, 5}, {1}},
                       {{5, 0}, {1}},
                       {{5, 0}, {0}},
                       {{257}, {0}},
                       {{33, 65}, {0}}})
    for (bool keep : {false, true})
      for (const char *kind : {"sum", "max"}) {
        Case c = reduce(kind, r.from, r.axes, keep, "f32");
        c.tolerance = {1e-4, 1e-5};
        EXPECT_EQ(check(c), "") << moduleText(c);
      }
}

TEST(Reduce, NanAndInfinity) {
  for (const char *cpu : {"native", "x86-64-v3", "x86-64-v2"})
    for (const char *kind : {"max", "min", "sum"})
      for (Dims axes : {Dims{0}, {1}}) {
        Case c = reduce(kind, {19, 21}, axes, true, "f32");
        c.fills = {Fill::Special};
        c.cpu = cpu;
        c.tolerance = {1e-4, 1e-4};
        EXPECT_EQ(check(c), "") << kind << " " << cpu;
      }
}

TEST(ArgReduce, AxesTiesAndNan) {
  for (const char *element : {"f32", "i8", "ui8", "f16", "i64", "f64"})
    for (int64_t axis : {0, 1, 2})
      for (const char *flags : {"", ", min", ", select_last", ", min, select_last", ", keepdims"}) {
        Dims from = {5, 7, 19}, to = from;
        if (std::string(flags) == ", keepdims")
          to[axis] = 1;
        else
          to.erase(to.begin() + axis);
        Case c = single("arg_reduce %0 {axis = " + std::to_string(axis) + flags + "}", {tensor(from, element)},
                        tensor(to, "i64"));
        c.fills = {axis == 1 ? Fill::Special : Fill::Plain};
        EXPECT_EQ(check(c), "") << element << flags << " axis " << axis;
      }
}

/// A dim of extent 1 has no loop.
TEST(ArgReduce, ExtentOne) {
  for (Dims from : {Dims{1}, {1, 1}, {7, 1}, {1, 7}, {3, 1, 5}, {0, 1}})
    for (int64_t axis = 0; axis < static_cast<int64_t>(from.size()); ++axis) {
      Dims to = from;
      to.erase(to.begin() + axis);
      if (from[axis] != 1)
        continue;
      Case c = single("arg_reduce %0 {axis = " + std::to_string(axis) + "}", {tensor(from, "f32")}, tensor(to, "i64"));
      EXPECT_EQ(check(c), "") << moduleText(c);
    }
}

TEST(CumSum, AxesAndDirections) {
  for (const char *element : {"f32", "i32", "i64", "f64"})
    for (int64_t axis : {0, 1, 2})
      for (const char *flags : {"", ", exclusive", ", reverse", ", exclusive, reverse"}) {
        std::string t = tensor({3, 5, 18}, element);
        Case c = single("cumsum %0 {axis = " + std::to_string(axis) + flags + "}", {t}, t);
        c.tolerance = {1e-5, 1e-5};
        EXPECT_EQ(check(c), "") << element << flags << " axis " << axis;
      }
  EXPECT_EQ(check(single("cumsum %0 {axis = 0}", {"tensor<1xf32>"}, "tensor<1xf32>")), "");
  EXPECT_EQ(check(single("cumsum %0 {axis = 0}", {"tensor<0x3xf32>"}, "tensor<0x3xf32>")), "");
}

TEST(MatMul, IntegersDoublesAndTransposes) {
  for (const char *element : {"i32", "i64", "f64", "i8"})
    for (bool left : {false, true})
      for (bool right : {false, true}) {
        std::string a = tensor(left ? Dims{2, 1, 5, 3} : Dims{2, 1, 3, 5}, element),
                    b = tensor(right ? Dims{4, 17, 5} : Dims{4, 5, 17}, element);
        Case c = single(std::string("matmul %0, %1 {") + (left ? "transpose_lhs" : "") + (left && right ? ", " : "") +
                            (right ? "transpose_rhs" : "") + "}",
                        {a, b}, tensor({2, 4, 3, 17}, element));
        EXPECT_EQ(check(c), "") << element << left << right;
      }
}
