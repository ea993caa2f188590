//===- ElementwiseTest.cpp - every pointwise kind x element type ----------===//
#include "test/target/cpu/KernelHarness.h"

#include <gtest/gtest.h>

using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::cpu::test;

namespace {

const char *const kCpus[] = {"native", "x86-64-v3", "x86-64-v2"};
const char *const kFloats[] = {"f32", "f16", "bf16", "f64"};
const char *const kInts[] = {"i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"};

std::string tensor(const std::string &dims, const std::string &element) {
  return "tensor<" + (dims.empty() ? "" : dims + "x") + element + ">";
}

Case unary(const std::string &kind, const std::string &element, const std::string &dims) {
  bool predicate = kind == "logical_not" || kind == "is_nan" || kind == "is_inf";
  std::string in = tensor(dims, element), out = tensor(dims, predicate ? "i1" : element);
  Case c;
  c.inputs = {in};
  c.body = "    %r0 = graph.unary " + kind + " %0 : " + in + " -> " + out;
  c.results = {out};
  return c;
}

Case binary(const std::string &kind, const std::string &element, const std::string &a, const std::string &b,
            const std::string &result) {
  bool comparison = kind == "eq" || kind == "lt" || kind == "le" || kind == "gt" || kind == "ge";
  Case c;
  c.inputs = {tensor(a, element), tensor(b, element)};
  c.results = {tensor(result, comparison ? "i1" : element)};
  c.body = "    %r0 = graph.binary " + kind + " %0, %1 : " + c.inputs[0] + ", " + c.inputs[1] + " -> " + c.results[0];
  return c;
}

} // namespace

TEST(Unary, EveryFloatKindAndType) {
  for (const char *cpu : kCpus)
    for (const char *element : kFloats)
      for (const char *kind : {"neg",  "abs",    "sqrt",    "rsqrt", "reciprocal", "exp",   "log",     "sin",
                               "cos",  "tanh",   "sigmoid", "erf",   "relu",       "floor", "ceil",    "round",
                               "sign", "is_nan", "is_inf",  "gelu",  "gelu_tanh",  "silu",  "softplus"}) {
        Case c = unary(kind, element, "3x37");
        c.cpu = cpu;
        // f64 functions are computed in f32, whose range then applies.
        c.fills = {std::string(element) == "f64" ? Fill::Plain : Fill::Special};
        c.tolerance = {2e-6, 2e-6};
        EXPECT_EQ(check(c), "") << kind << " " << element << " " << cpu;
      }
}

TEST(Unary, IntegersAndBool) {
  for (const char *element : kInts)
    for (const char *kind : {"neg", "abs", "relu", "sign"}) {
      Case c = unary(kind, element, "2x19");
      // The evaluator keeps ui64 in int64 and sees large ones as negative.
      c.fills = {std::string(element) == "ui64" ? Fill::Plain : Fill::Special};
      EXPECT_EQ(check(c), "") << kind << " " << element;
    }
  EXPECT_EQ(check(unary("logical_not", "i1", "5x7")), "");
}

TEST(Unary, EmptyScalarAndPrimeShapes) {
  for (const char *dims : {"", "0", "1", "3x0", "0x5", "1x1", "13", "257", "2x3x5x7"})
    EXPECT_EQ(check(unary("tanh", "f32", dims)), "") << dims;
}

TEST(Binary, EveryFloatKindAndType) {
  for (const char *cpu : kCpus)
    for (const char *element : kFloats)
      for (const char *kind : {"add", "sub", "mul", "div", "pow", "fmod", "min", "max", "eq", "lt", "le", "gt", "ge"}) {
        Case c = binary(kind, element, "2x37", "2x37", "2x37");
        c.cpu = cpu;
        c.fills = {Fill::Special, Fill::Special};
        EXPECT_EQ(check(c), "") << kind << " " << element << " " << cpu;
      }
}

TEST(Binary, EveryIntegerKindAndType) {
  for (const char *element : kInts)
    for (const char *kind : {"add", "sub", "mul", "div", "pow", "mod", "fmod", "min", "max", "eq", "lt", "le", "gt",
                             "ge", "bit_and", "bit_or", "bit_xor"}) {
      Case c = binary(kind, element, "3x23", "3x23", "3x23");
      bool beyondInt64 = std::string(kind) == "pow" && std::string(element) == "ui64"; // as above
      c.fills = {Fill::Special, beyondInt64 ? Fill::Plain : Fill::Special};
      EXPECT_EQ(check(c), "") << kind << " " << element;
    }
  for (const char *kind : {"logical_and", "logical_or", "logical_xor", "eq", "bit_and", "bit_or", "bit_xor"})
    EXPECT_EQ(check(binary(kind, "i1", "3x23", "3x23", "3x23")), "") << kind;
}

TEST(Binary, Broadcasting) {
  const char *const shapes[][3] = {{"4x5x33", "33", "4x5x33"},
                                   {"4x5x33", "", "4x5x33"},
                                   {"4x1x33", "1x5x1", "4x5x33"},
                                   {"33", "4x5x1", "4x5x33"},
                                   {"2x1x3x17", "2x5x1x17", "2x5x3x17"},
                                   {"7x1", "1x9", "7x9"},
                                   {"5x1x1", "3x29", "5x3x29"},
                                   {"1", "1", "1"},
                                   {"0x3", "1x3", "0x3"},
                                   {"6x4x1x5", "4x7x5", "6x4x7x5"},
                                   {"2x3x4", "2x1x1", "2x3x4"},
                                   {"11x3", "3", "11x3"}};
  for (auto &s : shapes)
    for (const char *element : {"f32", "i8", "bf16"})
      EXPECT_EQ(check(binary("sub", element, s[0], s[1], s[2])), "") << s[0] << " - " << s[1] << " " << element;
}

TEST(Binary, MixedPow) {
  Case c;
  c.inputs = {"tensor<3x17xf32>", "tensor<3x17xi64>"};
  c.results = {"tensor<3x17xf32>"};
  c.body = "%i = graph.constant dense<3> : tensor<i64>\n %e = graph.binary mod %1, %i : tensor<3x17xi64>, tensor<i64> "
           "-> tensor<3x17xi64>\n"
           "%r0 = graph.binary pow %0, %e : tensor<3x17xf32>, tensor<3x17xi64> -> tensor<3x17xf32>";
  EXPECT_EQ(check(c), "");
}

/// In f64: f32 would lose the low bits of the base, and the parity of a large exponent.
TEST(Binary, PowOfTwoTypes) {
  for (auto [base, exponent] : {std::pair("i32", "f32"),
                                {"i64", "f64"},
                                {"f32", "i32"},
                                {"f64", "f32"},
                                {"f16", "i8"},
                                {"i32", "f16"},
                                {"ui8", "f32"},
                                {"bf16", "f64"},
                                {"f32", "i64"}}) {
    Case c;
    c.inputs = {tensor("3x17", base), tensor("3x17", exponent)};
    c.results = {tensor("3x17", base)};
    c.body = "%r0 = graph.binary pow %0, %1 : " + c.inputs[0] + ", " + c.inputs[1] + " -> " + c.results[0];
    EXPECT_EQ(check(c), "") << base << " " << exponent;
    c.fills = {Fill::Special, Fill::Special};
    EXPECT_EQ(check(c), "") << base << " " << exponent << " special";
  }
}

TEST(Cast, EveryPair) {
  std::vector<std::string> types = {"i1"};
  types.insert(types.end(), std::begin(kFloats), std::end(kFloats));
  types.insert(types.end(), std::begin(kInts), std::end(kInts));
  for (const std::string &from : types)
    for (const std::string &to : types) {
      if (from == to)
        continue;
      Case c;
      c.inputs = {tensor("3x21", from)};
      c.results = {tensor("3x21", to)};
      c.fills = {Fill::Special};
      c.body = "    %r0 = graph.cast %0 {to = " + to + "} : " + c.inputs[0] + " -> " + c.results[0];
      c.tolerance = {0, 0};
      EXPECT_EQ(check(c), "") << from << " -> " << to;
    }
}

TEST(Cast, HalfTypesOnOldCpus) {
  for (const char *cpu : {"x86-64-v3", "x86-64-v2"})
    for (const char *half : {"f16", "bf16"})
      for (const char *other : {"f32", "f64", "i32"})
        for (bool up : {false, true}) {
          Case c;
          c.inputs = {tensor("3x21", up ? half : other)};
          c.results = {tensor("3x21", up ? other : half)};
          c.fills = {Fill::Special};
          c.cpu = cpu;
          c.body = "    %r0 = graph.cast %0 {to = " + std::string(up ? other : half) + "} : " + c.inputs[0] + " -> " +
                   c.results[0];
          EXPECT_EQ(check(c), "") << half << " " << other << " " << up << " " << cpu;
        }
}

TEST(Select, BroadcastCondition) {
  Case c;
  c.inputs = {"tensor<4x1x19xi1>", "tensor<3x19xf32>", "tensor<f32>"};
  c.results = {"tensor<4x3x19xf32>"};
  c.body = "%r0 = graph.select %0, %1, %2 : tensor<4x1x19xi1>, tensor<3x19xf32>, tensor<f32> -> tensor<4x3x19xf32>";
  EXPECT_EQ(check(c), "");
}

TEST(Fusion, ChainWithSeveralResults) {
  Case c;
  c.inputs = {"tensor<7x45xf32>", "tensor<45xf32>", "tensor<7x45xf32>"};
  c.results = {"tensor<7x45xf32>", "tensor<7x45xi1>"};
  c.body = "%s = graph.binary add %0, %1 : tensor<7x45xf32>, tensor<45xf32> -> tensor<7x45xf32>\n"
           "%g = graph.unary gelu %s : tensor<7x45xf32> -> tensor<7x45xf32>\n"
           "%r0 = graph.binary mul %g, %2 : tensor<7x45xf32>, tensor<7x45xf32> -> tensor<7x45xf32>\n"
           "%r1 = graph.binary gt %s, %2 : tensor<7x45xf32>, tensor<7x45xf32> -> tensor<7x45xi1>";
  c.tolerance = {5e-6, 1e-5}; // gelu is good to 1.1e-6 absolute
  EXPECT_EQ(check(c), "");
}

/// A value used twice at every level: without sharing the code would double 24 times.
TEST(Fusion, DiamondsStayLinear) {
  Case c;
  c.inputs = {"tensor<5x33xf32>"};
  c.results = {"tensor<5x33xf32>"};
  std::string t = "tensor<5x33xf32>", last = "%0";
  for (int i = 0; i < 24; ++i) {
    std::string next = i == 23 ? "%r0" : "%v" + std::to_string(i);
    c.body += "%u" + std::to_string(i) + " = graph.unary sigmoid " + last + " : " + t + " -> " + t + "\n" + next +
              " = graph.binary sub " + last + ", %u" + std::to_string(i) + " : " + t + ", " + t + " -> " + t + "\n";
    last = next;
  }
  c.tolerance = {1e-4, 1e-4};
  EXPECT_EQ(check(c), "");
}
