//===- PlanMemoryTest.cpp - lifetimes and offsets of rt programs ----------===//
#include "DriverTest.h"

#include "lib/Driver/PlanMemory.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::driver;

namespace {

struct PlanMemoryTest : test::DriverTest {
  /// `body` in a program with input %x and output %y of 12 bytes and kernel @k.
  Expected<PlannedMemory> planOf(const std::string &body, uint64_t budget = 0) {
    func::FuncOp entry =
        parse("rt.kernel @k scratch 0\nfunc.func @main() {\n  %x = rt.input 0 \"x\" tensor<3xf32> : <12>\n"
              "  %y = rt.output 0 \"y\" tensor<3xf32> : <12>\n" +
              body + "  return\n}\n");
    plan::Options options;
    options.budget = budget;
    return planMemory(entry, options);
  }
  static std::string alloc(const std::string &name, int bytes) {
    return "  %" + name + " = rt.alloc \"" + name + "\" : <" + std::to_string(bytes) + ">\n";
  }
  struct Side {
    std::string value;
    int bytes;
  };
  static std::string launch(ArrayRef<Side> reads, ArrayRef<Side> writes, const std::string &inPlace) {
    auto values = [](ArrayRef<Side> side) {
      return llvm::join(llvm::map_range(side, [](Side s) { return "%" + s.value; }), ", ");
    };
    auto types = [](ArrayRef<Side> side) {
      return "(" +
             llvm::join(llvm::map_range(side, [](Side s) { return "!rt.buffer<" + std::to_string(s.bytes) + ">"; }),
                        ", ") +
             ")";
    };
    return "  rt.launch @k grid 1 chunk 1 (" + values(reads) + ") -> (" + values(writes) + ") in_place [" + inPlace +
           "] flops 0.0 bytes 0.0 : " + types(reads) + " -> " + types(writes) + "\n";
  }
  std::string bufferText(const PlannedMemory &memory) {
    std::string text;
    for (const plan::Buffer &b : memory.problem.buffers) {
      text +=
          b.name + " " + std::to_string(b.size) + " [" + std::to_string(b.first) + "," + std::to_string(b.last) + ")";
      for (plan::BufferId id : b.inPlace)
        text += " over " + memory.problem.buffers[id].name;
      text += "; ";
    }
    return text;
  }
  int64_t offsetOf(StringRef name) {
    int64_t offset = -1;
    module->walk([&](rt::AllocOp op) {
      if (op.getName() == name && op.getOffset())
        offset = static_cast<int64_t>(*op.getOffset());
    });
    return offset;
  }
};

TEST_F(PlanMemoryTest, LifetimesSpanFromFirstWriteToLastRead) {
  auto memory = planOf(alloc("a", 100) + alloc("b", 12) + launch({{"x", 12}}, {{"a", 100}}, "array<i64>") +
                       launch({{"a", 100}}, {{"b", 12}}, "array<i64>") +
                       launch({{"b", 12}, {"a", 100}}, {{"y", 12}}, "array<i64>"));
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(bufferText(*memory), "a 100 [0,3); b 12 [1,3); ") << "inputs and outputs are the caller's";
  EXPECT_EQ(memory->plan.peak, 128u + 64) << "sizes count in steps of 64";
  EXPECT_EQ(offsetOf("a") % 64, 0);
  EXPECT_EQ(offsetOf("b") % 64, 0);
  EXPECT_NE(offsetOf("a"), offsetOf("b"));
}

TEST_F(PlanMemoryTest, DeadMemoryIsUsedAgain) {
  auto memory =
      planOf(alloc("a", 100) + alloc("b", 100) + alloc("c", 100) + launch({{"x", 12}}, {{"a", 100}}, "array<i64>") +
             launch({{"a", 100}}, {{"b", 100}}, "array<i64>") + launch({{"b", 100}}, {{"c", 100}}, "array<i64>") +
             launch({{"c", 100}}, {{"y", 12}}, "array<i64>"));
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(offsetOf("a"), offsetOf("c"));
  EXPECT_EQ(memory->plan.peak, 128u + 128);
}

TEST_F(PlanMemoryTest, ViewsKeepTheirSourceAlive) {
  auto memory =
      planOf(alloc("a", 100) + alloc("b", 12) + launch({{"x", 12}}, {{"a", 100}}, "array<i64>") +
             launch({{"x", 12}}, {{"b", 12}}, "array<i64>") + "  %v = rt.view %a[64] : <100> -> <36>\n" +
             "  %w = rt.view %v[4] : <36> -> <12>\n" + launch({{"w", 12}, {"b", 12}}, {{"y", 12}}, "array<i64>"));
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(bufferText(*memory), "a 100 [0,3); b 12 [1,3); ");
}

TEST_F(PlanMemoryTest, InPlaceTakesOverWhatDies) {
  auto memory = planOf(alloc("a", 12) + alloc("b", 12) + launch({{"x", 12}}, {{"a", 12}}, "array<i64: 0>") +
                       launch({{"x", 12}, {"a", 12}}, {{"b", 12}}, "array<i64: 0, 1>") +
                       launch({{"b", 12}}, {{"y", 12}}, "array<i64: 0>"));
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(bufferText(*memory), "a 12 [0,2); b 12 [1,3) over a; ") << "never an input, never for an output";
  EXPECT_EQ(offsetOf("a"), offsetOf("b"));
  EXPECT_EQ(memory->plan.peak, 64u);
}

TEST_F(PlanMemoryTest, NotInPlaceOfWhatIsReadLater) {
  auto memory = planOf(alloc("a", 12) + alloc("b", 12) + launch({{"x", 12}}, {{"a", 12}}, "array<i64>") +
                       launch({{"a", 12}}, {{"b", 12}}, "array<i64: 0>") +
                       launch({{"b", 12}, {"a", 12}}, {{"y", 12}}, "array<i64>"));
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(offsetOf("a"), offsetOf("b"));
}

TEST_F(PlanMemoryTest, NotInPlaceOfWhatTheLaunchReadsTwice) {
  auto memory = planOf(alloc("a", 12) + alloc("b", 12) + launch({{"x", 12}}, {{"a", 12}}, "array<i64>") +
                       launch({{"a", 12}, {"a", 12}}, {{"b", 12}}, "array<i64: 0>") +
                       launch({{"b", 12}}, {{"y", 12}}, "array<i64>"));
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(bufferText(*memory), "a 12 [0,2); b 12 [1,3); ");
}

TEST_F(PlanMemoryTest, OneOfTwoWritesTakesOver) {
  auto memory =
      planOf(alloc("a", 12) + alloc("b", 12) + alloc("c", 12) + launch({{"x", 12}}, {{"a", 12}}, "array<i64>") +
             launch({{"a", 12}}, {{"b", 12}, {"c", 12}}, "array<i64: 0>, array<i64: 0>") +
             launch({{"b", 12}, {"c", 12}}, {{"y", 12}}, "array<i64>"));
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(offsetOf("b"), offsetOf("c"));
  EXPECT_TRUE(offsetOf("b") == offsetOf("a") || offsetOf("c") == offsetOf("a"));
}

TEST_F(PlanMemoryTest, InPlaceOfAViewOnlyFromItsStart) {
  std::string before = alloc("a", 12) + alloc("b", 8) + launch({{"x", 12}}, {{"a", 12}}, "array<i64>");
  std::string after = launch({{"v", 8}}, {{"b", 8}}, "array<i64: 0>") + launch({{"b", 8}}, {{"y", 12}}, "array<i64>");
  auto start = planOf(before + "  %v = rt.view %a[0] : <12> -> <8>\n" + after);
  ASSERT_TRUE(start.ok());
  EXPECT_EQ(bufferText(*start), "a 12 [0,2); b 8 [1,3) over a; ");
  auto inside = planOf(before + "  %v = rt.view %a[4] : <12> -> <8>\n" + after);
  ASSERT_TRUE(inside.ok());
  EXPECT_EQ(bufferText(*inside), "a 12 [0,2); b 8 [1,3); ") << "element i would overwrite element i - 1";
}

TEST_F(PlanMemoryTest, Budget) {
  std::string body = alloc("a", 100) + launch({{"x", 12}}, {{"a", 100}}, "array<i64>") +
                     launch({{"a", 100}}, {{"y", 12}}, "array<i64>");
  EXPECT_TRUE(planOf(body, 128).ok());
  auto tight = planOf(body, 127);
  ASSERT_FALSE(tight.ok());
  EXPECT_EQ(tight.status().code(), StatusCode::ResourceLimit);
  EXPECT_EQ(tight.status().message(), "memory plan: needs 128 bytes (budget 127)");
}

TEST_F(PlanMemoryTest, NothingToPlan) {
  auto memory = planOf(alloc("unused", 100) + launch({{"x", 12}}, {{"y", 12}}, "array<i64>"));
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->plan.peak, 0u);
  EXPECT_EQ(offsetOf("unused"), -1);
}

} // namespace
