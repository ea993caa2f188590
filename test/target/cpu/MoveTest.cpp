//===- MoveTest.cpp - ops that move elements, alone and fused -------------===//
#include "test/target/cpu/KernelHarness.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::cpu::test;

namespace {

using Dims = std::vector<int64_t>;

std::string list(const Dims &v) {
  std::string text;
  for (size_t i = 0; i < v.size(); ++i)
    text += (i ? ", " : "") + std::to_string(v[i]);
  return text;
}
std::string attr(const Dims &v) { return v.empty() ? "array<i64>" : "array<i64: " + list(v) + ">"; }
std::string tensor(const Dims &dims, const std::string &element = "f32") {
  std::string text = "tensor<";
  for (int64_t d : dims)
    text += std::to_string(d) + "x";
  return text + element + ">";
}

Case one(const std::string &op, std::vector<std::string> inputs, const std::string &result) {
  Case c;
  std::string types;
  for (size_t i = 0; i < inputs.size(); ++i)
    types += (i ? ", " : "") + inputs[i];
  c.body = "    %r0 = graph." + op + " : " + types + " -> " + result;
  c.inputs = std::move(inputs);
  c.results = {result};
  c.tolerance = {0, 0};
  return c;
}

Case transpose(const Dims &from, const Dims &permutation, const std::string &element) {
  Dims to;
  for (int64_t p : permutation)
    to.push_back(from[p]);
  return one("transpose %0 {permutation = " + attr(permutation) + "}", {tensor(from, element)}, tensor(to, element));
}

} // namespace

TEST(Transpose, EveryPermutationOfRank4) {
  Dims permutation = {0, 1, 2, 3};
  do
    EXPECT_EQ(check(transpose({3, 5, 2, 17}, permutation, "f32")), "") << list(permutation);
  while (std::next_permutation(permutation.begin(), permutation.end()));
}

TEST(Transpose, MatricesOfEveryWidthAndType) {
  for (const char *cpu : {"native", "x86-64-v3", "x86-64-v2"})
    for (const char *element : {"i8", "f16", "bf16", "f32", "i64", "i1"})
      for (Dims dims : {Dims{64, 64}, {33, 70}, {1, 19}, {16, 16}, {7, 128}, {0, 4}, {129, 3}}) {
        Case c = transpose(dims, {1, 0}, element);
        c.cpu = cpu;
        EXPECT_EQ(check(c), "") << list(dims) << " " << element << " " << cpu;
      }
}

TEST(Slice, StepsAndBounds) {
  struct Row {
    Dims from, starts, ends, steps, axes, to;
  };
  constexpr int64_t low = INT64_MIN, high = INT64_MAX;
  for (const Row &r : {Row{{7, 33}, {1, 2}, {6, 30}, {2, 1}, {0, 1}, {3, 28}},
                       {{7, 33}, {high}, {low}, {-1}, {1}, {7, 33}},
                       {{40}, {-1}, {low}, {-3}, {0}, {14}},
                       {{40}, {3}, {high}, {4}, {0}, {10}},
                       {{4, 5, 6}, {-2, 100}, {high, -100}, {1, -2}, {2, 0}, {2, 5, 2}},
                       {{5}, {3}, {3}, {1}, {0}, {0}},
                       {{6, 9}, {2}, {3}, {1}, {0}, {1, 9}}}) {
    Case c = one("slice %0 {starts = " + attr(r.starts) + ", ends = " + attr(r.ends) + ", steps = " + attr(r.steps) +
                     ", axes = " + attr(r.axes) + "}",
                 {tensor(r.from)}, tensor(r.to));
    EXPECT_EQ(check(c), "") << list(r.from) << " -> " << list(r.to);
  }
}

TEST(Concat, AxesAndSizes) {
  struct Row {
    std::vector<Dims> from;
    int64_t axis;
    Dims to;
  };
  for (const Row &r : {Row{{{3, 5}, {3, 17}}, 1, {3, 22}},
                       {{{3, 5}, {2, 5}, {1, 5}}, 0, {6, 5}},
                       {{{2, 1, 4}, {2, 3, 4}}, 1, {2, 4, 4}},
                       {{{0}, {7}, {0}, {4}}, 0, {11}},
                       {{{2, 40}, {2, 24}, {2, 3}}, 1, {2, 67}},
                       {{{5}}, 0, {5}}}) {
    std::string names;
    std::vector<std::string> types;
    for (size_t i = 0; i < r.from.size(); ++i) {
      names += (i ? ", %" : "%") + std::to_string(i);
      types.push_back(tensor(r.from[i]));
    }
    EXPECT_EQ(check(one("concat " + names + " {axis = " + std::to_string(r.axis) + "}", types, tensor(r.to))), "")
        << list(r.to);
  }
}

/// More operands than pieces: every operand is read (clamped) and selected from.
TEST(Concat, TwentyOperands) {
  std::string names;
  std::vector<std::string> types;
  for (int i = 0; i < 20; ++i) {
    names += (i ? ", %" : "%") + std::to_string(i);
    types.push_back(tensor({3, 1 + i % 3}));
  }
  EXPECT_EQ(check(one("concat " + names + " {axis = 1}", types, tensor({3, 39}))), "");
  std::vector<std::string> rows(20, tensor({2, 33}));
  EXPECT_EQ(check(one("concat " + names + " {axis = 0}", rows, tensor({40, 33}))), "");
}

TEST(Pad, BordersCropsAndValue) {
  struct Row {
    Dims from, pads, to;
  };
  for (const Row &r : {Row{{3, 5}, {1, 2, 0, 3}, {4, 10}},
                       {{4, 9}, {-1, 0, -1, 0}, {2, 9}},
                       {{4, 19}, {0, -3, 2, 5}, {6, 21}},
                       {{2, 3, 8, 8}, {0, 0, 1, 1, 0, 0, 1, 1}, {2, 3, 10, 10}},
                       {{0, 3}, {1, 0, 1, 0}, {2, 3}},
                       {{5}, {0, 0}, {5}}}) {
    EXPECT_EQ(check(one("pad %0 {pads = " + attr(r.pads) + "}", {tensor(r.from)}, tensor(r.to))), "") << list(r.to);
    Case c = one("pad %0 value(%1 : tensor<f32>) {pads = " + attr(r.pads) + "}", {tensor(r.from)}, tensor(r.to));
    c.inputs.push_back("tensor<f32>");
    EXPECT_EQ(check(c), "") << list(r.to);
  }
}

TEST(Trilu, Diagonals) {
  for (int k : {-9, -3, 0, 2, 40})
    for (bool upper : {false, true})
      for (Dims dims : {Dims{2, 7, 37}, {5, 5}, {3, 64}}) {
        Case c = one("trilu %0 {k = " + std::to_string(k) + (upper ? ", upper}" : "}"), {tensor(dims)}, tensor(dims));
        EXPECT_EQ(check(c), "") << k << " " << upper;
      }
}

TEST(Gather, AxesAndIndexShapes) {
  struct Row {
    Dims data, indices;
    int64_t axis;
    Dims to;
  };
  for (const Row &r : {Row{{11, 33}, {5}, 0, {5, 33}},
                       {{11, 33}, {2, 3}, 0, {2, 3, 33}},
                       {{4, 11}, {9}, 1, {4, 9}},
                       {{2, 11, 3}, {2, 2}, 1, {2, 2, 2, 3}},
                       {{11}, {}, 0, {}},
                       {{11, 5}, {0}, 0, {0, 5}},
                       {{32, 12}, {6, 6}, 0, {6, 6, 12}}})
    for (const char *type : {"i64", "i32"}) {
      Case c = one("gather %0, %1 {axis = " + std::to_string(r.axis) + "}", {tensor(r.data), tensor(r.indices, type)},
                   tensor(r.to));
      c.fills = {Fill::Plain, Fill::Index};
      c.indexLimit = r.data[r.axis];
      EXPECT_EQ(check(c), "") << list(r.to);
    }
}

TEST(Gather, OutOfRangeIsAFaultWithoutAWildRead) {
  for (int64_t axis : {0, 1}) { // the buffers end at unmapped pages
    Case c = one("gather %0, %1 {axis = " + std::to_string(axis) + "}", {tensor({16, 16}), tensor({64}, "i64")},
                 axis ? tensor({16, 64}) : tensor({64, 16}));
    c.fills = {Fill::Plain, Fill::Special}; // INT64_MIN and INT64_MAX among them
    c.fault = KernelFault::IndexOutOfRange;
    EXPECT_EQ(check(c), "");
    c.cpu = "x86-64-v2";
    EXPECT_EQ(check(c), "");
  }
  Case empty = one("gather %0, %1 {axis = 0}", {tensor({0, 4}), tensor({3}, "i64")}, tensor({3, 4}));
  empty.fault = KernelFault::IndexOutOfRange;
  EXPECT_EQ(check(empty), "");
  Case elements = one("gather_elements %0, %1 {axis = 1}", {tensor({4, 6}), tensor({4, 9}, "i64")}, tensor({4, 9}));
  elements.fills = {Fill::Plain, Fill::Special};
  elements.fault = KernelFault::IndexOutOfRange;
  EXPECT_EQ(check(elements), "");
}

TEST(GatherElements, AxesAndSmallerIndices) {
  for (int64_t axis : {0, 1, 2}) {
    Dims data = {5, 6, 7}, indices = {3, 2, 4};
    indices[axis] = 9;
    Case c = one("gather_elements %0, %1 {axis = " + std::to_string(axis) + "}", {tensor(data), tensor(indices, "i64")},
                 tensor(indices));
    c.fills = {Fill::Plain, Fill::Index};
    c.indexLimit = 5;
    EXPECT_EQ(check(c), "") << axis;
  }
}

TEST(GatherND, TuplesAndBatches) {
  struct Row {
    Dims data, indices;
    int64_t batch;
    Dims to;
  };
  for (const Row &r : {Row{{4, 4, 19}, {5, 2}, 0, {5, 19}},
                       {{4, 4, 19}, {3, 1}, 0, {3, 4, 19}},
                       {{2, 4, 5, 3}, {2, 6, 1}, 1, {2, 6, 5, 3}},
                       {{4, 4}, {2, 3, 2}, 0, {2, 3}}}) {
    Case c = one("gather_nd %0, %1 {batch_dims = " + std::to_string(r.batch) + "}",
                 {tensor(r.data), tensor(r.indices, "i64")}, tensor(r.to));
    c.fills = {Fill::Plain, Fill::Index};
    c.indexLimit = 4;
    EXPECT_EQ(check(c), "") << list(r.to);
  }
}

TEST(ScatterND, DistinctTuples) {
  for (const char *element : {"f32", "i1", "f16"}) {
    Case c = one("scatter_nd %0, %1, %2", {tensor({9, 7}, element), tensor({1, 1}, "i64"), tensor({1, 7}, element)},
                 tensor({9, 7}, element));
    c.fills = {Fill::Plain, Fill::Index, Fill::Plain};
    c.indexLimit = 9;
    EXPECT_EQ(check(c), "") << element;
    c.fills[1] = Fill::Special;
    c.inputs[1] = tensor({16, 1}, "i64");
    c.inputs[2] = tensor({16, 7}, element);
    c.body = "%r0 = graph.scatter_nd %0, %1, %2 : " + c.inputs[0] + ", " + c.inputs[1] + ", " + c.inputs[2] + " -> " +
             c.results[0];
    c.fault = KernelFault::IndexOutOfRange;
    EXPECT_EQ(check(c), "") << element;
  }
}

/// The memref of a tensor without elements claims one.
TEST(ScatterND, NothingToDo) {
  Case c = one("scatter_nd %0, %1, %2", {tensor({5, 3}), tensor({0, 1}, "i64"), tensor({0, 3})}, tensor({5, 3}));
  EXPECT_EQ(check(c), "");
  c = one("scatter_nd %0, %1, %2", {tensor({5, 0}), tensor({2, 1}, "i64"), tensor({2, 0})}, tensor({5, 0}));
  c.fills = {Fill::Plain, Fill::Index, Fill::Plain};
  EXPECT_EQ(check(c), "");
}

TEST(Range, AllTypes) {
  for (const char *element : {"f32", "f64", "i32", "i64", "i16"}) {
    bool isFloat = element[0] == 'f';
    Case c;
    c.inputs = {tensor({}, element)};
    c.results = {tensor({37}, element)};
    std::string t = tensor({}, element);
    c.body = "%l = graph.constant dense<" + std::string(isFloat ? "1.0e4" : "10000") + "> : " + t +
             "\n %d = graph.constant dense<" + (isFloat ? "0.25" : "3") + "> : " + t +
             "\n%r0 = graph.range %0, %l, %d : " + t + ", " + t + ", " + t + " -> " + c.results[0];
    // The evaluator would derive another length: compare by hand.
    Parsed parsed = parse(moduleText(c));
    EXPECT_TRUE(parsed.module) << element;
  }
}

TEST(Fusion, HeadSplitWithBias) {
  Case c;
  c.inputs = {tensor({2, 10, 48}), tensor({48})};
  c.results = {tensor({2, 3, 10, 16})};
  c.body = "%s = graph.binary add %0, %1 : tensor<2x10x48xf32>, tensor<48xf32> -> tensor<2x10x48xf32>\n"
           "%v = graph.reshape %s {shape = array<i64: 2, 10, 3, 16>} : tensor<2x10x48xf32> -> tensor<2x10x3x16xf32>\n"
           "%r0 = graph.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x10x3x16xf32> -> "
           "tensor<2x3x10x16xf32>";
  EXPECT_EQ(check(c), "");
}

/// Squares in registers, their borders, and an operand that the result may take over.
TEST(Fusion, TransposePlusOperand) {
  for (const char *cpu : {"native", "x86-64-v3", "x86-64-v2"})
    for (Dims dims : {Dims{40, 50}, {64, 48}, {17, 16}}) {
      Case c;
      Dims to = {dims[1], dims[0]};
      c.inputs = {tensor(dims), tensor(to), tensor({dims[0]})};
      c.results = {tensor(to), tensor(to, "i1")};
      c.cpu = cpu;
      c.body = "%t = graph.transpose %0 {permutation = array<i64: 1, 0>} : " + tensor(dims) + " -> " + tensor(to) +
               "\n%r0 = graph.binary sub %t, %1 : " + tensor(to) + ", " + tensor(to) + " -> " + tensor(to) +
               "\n%r1 = graph.binary lt %r0, %2 : " + tensor(to) + ", " + tensor({dims[0]}) + " -> " + tensor(to, "i1");
      EXPECT_EQ(check(c), "") << list(dims) << cpu;
    }
}

TEST(Fusion, TableLookupInsideTheBody) {
  Case c;
  c.inputs = {tensor({3, 19}, "i64")};
  c.results = {tensor({3, 19})};
  c.fills = {Fill::Index};
  c.indexLimit = 4;
  c.body = "%t = graph.constant dense<[1.5, -2.0, 3.25, 9.0]> : tensor<4xf32>\n"
           "%g = graph.gather %t, %0 {axis = 0} : tensor<4xf32>, tensor<3x19xi64> -> tensor<3x19xf32>\n"
           "%r0 = graph.unary neg %g : tensor<3x19xf32> -> tensor<3x19xf32>";
  EXPECT_EQ(check(c), "");
}

//===----------------------------------------------------------------------===//
// Random chains
//===----------------------------------------------------------------------===//

namespace {

/// Builds a body of random moves and element-wise ops on shapes that keep dividing each other badly.
struct Chain {
  std::mt19937 rng;
  Case c;
  Dims dims;
  std::string value = "%0";
  int count = 0;

  explicit Chain(uint32_t seed) : rng(seed) {
    for (int i = 0, rank = 1 + pick(4); i < rank; ++i)
      dims.push_back(std::array{1, 2, 3, 4, 5, 6, 16, 17}[pick(8)]);
    c.inputs = {tensor(dims)};
  }
  int64_t pick(int64_t n) { return static_cast<int64_t>(rng() % n); }
  int64_t elements() { return std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>()); }

  void emit(const std::string &op, const std::vector<std::string> &types, const Dims &to) {
    std::string name = "%v" + std::to_string(count++), text;
    for (const std::string &t : types)
      text += (text.empty() ? "" : ", ") + t;
    c.body += name + " = graph." + op + " : " + text + " -> " + tensor(to) + "\n";
    value = name;
    dims = to;
  }
  std::string input(const Dims &d) {
    c.inputs.push_back(tensor(d));
    return "%" + std::to_string(c.inputs.size() - 1);
  }

  void step() {
    std::string type = tensor(dims);
    size_t rank = dims.size(), axis = pick(rank);
    switch (pick(8)) {
    case 0: {
      Dims p(rank), to;
      std::iota(p.begin(), p.end(), 0);
      std::shuffle(p.begin(), p.end(), rng);
      for (int64_t i : p)
        to.push_back(dims[i]);
      return emit("transpose " + value + " {permutation = " + attr(p) + "}", {type}, to);
    }
    case 1: { // any factorisation
      Dims to;
      int64_t left = elements();
      for (int64_t f : {2, 3, 16, 5})
        if (left % f == 0 && pick(2))
          to.push_back(f), left /= f;
      to.insert(to.begin() + pick(to.size() + 1), left);
      return emit("reshape " + value + " {shape = " + attr(to) + "}", {type}, to);
    }
    case 2: {
      int64_t step = std::array<int64_t, 4>{1, 2, -1, -2}[pick(4)], start = pick(dims[axis]), n = 1 + pick(dims[axis]);
      int64_t reach = step > 0 ? (dims[axis] - start + step - 1) / step : start / -step + 1;
      n = std::min(n, reach);
      int64_t end = start + (n - 1) * step + (step > 0 ? 1 : -1);
      Dims to = dims;
      to[axis] = n;
      return emit("slice " + value + " {starts = " + attr({start}) + ", ends = " + attr({end < 0 ? INT64_MIN : end}) +
                      ", steps = " + attr({step}) + ", axes = " + attr({static_cast<int64_t>(axis)}) + "}",
                  {type}, to);
    }
    case 3: {
      if (elements() > 4000)
        return;
      Dims other = dims, to = dims;
      other[axis] = 1 + pick(5);
      to[axis] += other[axis];
      std::string in = input(other);
      bool first = pick(2);
      return emit("concat " + (first ? in + ", " + value : value + ", " + in) + " {axis = " + std::to_string(axis) +
                      "}",
                  first ? std::vector{tensor(other), type} : std::vector{type, tensor(other)}, to);
    }
    case 4: {
      if (elements() > 4000)
        return;
      Dims pads(2 * rank), to = dims;
      pads[axis] = pick(4) - (dims[axis] > 2);
      pads[rank + axis] = pick(3) - (dims[axis] > 2);
      to[axis] += pads[axis] + pads[rank + axis];
      return emit("pad " + value + " {pads = " + attr(pads) + "}", {type}, to);
    }
    case 5: {
      Dims other(dims.begin() + pick(rank + 1), dims.end());
      for (int64_t &d : other)
        d = pick(2) ? d : 1;
      std::string in = input(other);
      return emit("binary sub " + value + ", " + in, {type, tensor(other)}, dims);
    }
    case 6: {
      if (rank < 2)
        return;
      return emit("trilu " + value + " {k = " + std::to_string(pick(5) - 2) + (pick(2) ? ", upper}" : "}"), {type},
                  dims);
    }
    default: {
      if (elements() > 4000)
        return;
      int64_t n = 1 + pick(6);
      Dims to = dims;
      to[axis] = n;
      c.fills.resize(c.inputs.size(), Fill::Plain);
      c.inputs.push_back(tensor({n}, "i64"));
      c.fills.push_back(Fill::Index); // one limit for all index inputs: small
      std::string in = "%" + std::to_string(c.inputs.size() - 1);
      return emit("gather " + value + ", " + in + " {axis = " + std::to_string(axis) + "}", {type, tensor({n}, "i64")},
                  to);
    }
    }
  }
};

} // namespace

TEST(Fusion, RandomChains) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    Chain chain(seed);
    for (int i = 0, n = 1 + seed % 6; i < n; ++i)
      chain.step();
    if (chain.count == 0)
      continue;
    Case &c = chain.c;
    c.fills.resize(c.inputs.size(), Fill::Plain);
    c.results = {tensor(chain.dims)};
    c.body += "%r0 = graph.unary abs " + chain.value + " : " + c.results[0] + " -> " + c.results[0];
    c.cpu = std::array{"native", "x86-64-v3", "x86-64-v2"}[seed % 3];
    c.tolerance = {0, 0};
    EXPECT_EQ(check(c, seed), "") << "seed " << seed << "\n" << moduleText(c);
  }
}
