//===- FrameTest.cpp - from grouped graph to launches ---------------------===//
#include "DriverTest.h"

#include "lib/Driver/Names.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::driver;

namespace {

using FrameTest = test::DriverTest;

/// `%RESULT = group(%OPERAND)`: one relu of tensor<2x3xf32>.
std::string relu(const std::string &result, const std::string &operand, const std::string &location = "") {
  return "  " + result + " = graph.group \"pointwise\"(" + operand + ") : (tensor<2x3xf32>) -> tensor<2x3xf32> {\n" +
         "  ^bb0(%a: tensor<2x3xf32>):\n" + "    %relu = graph.unary relu %a : tensor<2x3xf32> -> tensor<2x3xf32>\n" +
         "    graph.yield %relu : tensor<2x3xf32>\n  }" + (location.empty() ? "" : " loc(" + location + ")") + "\n";
}

std::string mainOf(const std::string &body, const std::string &results = "tensor<2x3xf32> {graph.name = \"y\"}") {
  return "func.func @main(%x: tensor<2x3xf32> {graph.name = \"x\"}) -> (" + results + ") {\n" + body + "}\n";
}

/// Which op owns the buffer, and its name: "input x", "alloc h", "output y", "const".
std::string ownerOf(Value buffer) {
  if (auto op = buffer.getDefiningOp<rt::InputOp>())
    return "input " + op.getName().str();
  if (auto op = buffer.getDefiningOp<rt::OutputOp>())
    return "output " + op.getName().str();
  if (auto op = buffer.getDefiningOp<rt::AllocOp>())
    return "alloc " + op.getName().str();
  return buffer.getDefiningOp<rt::ConstOp>() ? "const" : "?";
}

/// One line per launch: "k0: input x -> output y".
std::string launchesOf(func::FuncOp entry) {
  std::string text;
  for (auto launch : entry.getOps<rt::LaunchOp>()) {
    auto names = [](ValueRange values) { return llvm::join(llvm::map_range(values, ownerOf), ", "); };
    text += launch.getKernel().str() + ": " + names(launch.getReads()) + " -> " + names(launch.getWrites()) + "\n";
  }
  return text;
}

TEST_F(FrameTest, ResultsAreWrittenToTheCallersMemory) {
  func::FuncOp entry =
      frameOf(mainOf(relu("%h", "%x", "\"first\"") + relu("%y", "%h") + "  return %y : tensor<2x3xf32>\n"));
  EXPECT_EQ(launchesOf(entry), "k0: input x -> alloc first\nk1: alloc first -> output y\n");
  EXPECT_TRUE(succeeded(verify(*frame)));
  EXPECT_EQ(all<rt::AllocOp>(entry)[0].getBuffer().getType().getSizeBytes(), 24u);
}

TEST_F(FrameTest, ResultThatIsAlsoReadStaysThere) {
  func::FuncOp entry =
      frameOf(mainOf(relu("%y", "%x") + relu("%z", "%y") + "  return %y, %z : tensor<2x3xf32>, tensor<2x3xf32>\n",
                     "tensor<2x3xf32> {graph.name = \"y\"}, tensor<2x3xf32> {graph.name = \"z\"}"));
  EXPECT_EQ(launchesOf(entry), "k0: input x -> output y\nk1: output y -> output z\n");
}

TEST_F(FrameTest, ResultThatIsAnInputIsCopied) {
  func::FuncOp entry = frameOf(mainOf("  return %x : tensor<2x3xf32>\n"));
  EXPECT_EQ(launchesOf(entry), "k0: input x -> output y\n");
  auto copy = all<graph::GroupOp>(*module->getOps<func::FuncOp>().begin())[0];
  EXPECT_EQ(copy.getBody().front().getOperations().size(), 1u) << "only a yield";
  EXPECT_EQ(copy.getKind(), "pointwise");
}

TEST_F(FrameTest, ResultThatIsAConstantIsCopied) {
  func::FuncOp entry =
      frameOf(mainOf("  %c = graph.constant dense<1.0> : tensor<2x3xf32>\n  return %c : tensor<2x3xf32>\n"));
  EXPECT_EQ(launchesOf(entry), "k0: const -> output y\n");
}

TEST_F(FrameTest, ResultReturnedTwiceIsCopiedOnce) {
  func::FuncOp entry =
      frameOf(mainOf(relu("%y", "%x") + "  return %y, %y : tensor<2x3xf32>, tensor<2x3xf32>\n",
                     "tensor<2x3xf32> {graph.name = \"y\"}, tensor<2x3xf32> {graph.name = \"again\"}"));
  EXPECT_EQ(launchesOf(entry), "k0: input x -> output y\nk1: output y -> output again\n");
}

TEST_F(FrameTest, CopiesAreNamedAfterTheirNodeElseTheirOutput) {
  frameOf(mainOf("  %c = graph.constant dense<1.0> : tensor<2x3xf32> loc(\"node\")\n"
                 "  return %x, %c : tensor<2x3xf32>, tensor<2x3xf32>\n",
                 "tensor<2x3xf32> {graph.name = \"y\"}, tensor<2x3xf32> {graph.name = \"z\"}"));
  SmallVector<std::string> names;
  frame->walk([&](rt::LaunchOp launch) { names.push_back(launchName(launch.getLoc())); });
  EXPECT_EQ(names, (SmallVector<std::string>{"y", "node"}));
}

TEST_F(FrameTest, ReshapedInputIsCopied) {
  func::FuncOp entry =
      frameOf(mainOf("  %r = graph.reshape %x {shape = array<i64: 6>} : tensor<2x3xf32> -> tensor<6xf32>\n"
                     "  return %r : tensor<6xf32>\n",
                     "tensor<6xf32> {graph.name = \"y\"}"));
  EXPECT_EQ(launchesOf(entry), "k0: input x -> output y\n");
  EXPECT_EQ(all<rt::OutputOp>(entry)[0].getTensor(), RankedTensorType::get({6}, Float32Type::get(&context)));
}

TEST_F(FrameTest, ReshapeIsTheSameMemory) {
  func::FuncOp entry =
      frameOf(mainOf(relu("%h", "%x", "\"h\"") +
                         "  %r = graph.reshape %h {shape = array<i64: 6>} : tensor<2x3xf32> -> tensor<6xf32>\n"
                         "  %s = graph.reshape %r {shape = array<i64: 2, 3>} : tensor<6xf32> -> tensor<2x3xf32>\n" +
                         relu("%y", "%s") +
                         "  %t = graph.reshape %y {shape = array<i64: 6>} : tensor<2x3xf32> -> tensor<6xf32>\n"
                         "  return %t : tensor<6xf32>\n",
                     "tensor<6xf32> {graph.name = \"y\"}"));
  EXPECT_EQ(launchesOf(entry), "k0: input x -> alloc h\nk1: alloc h -> output y\n");
  EXPECT_EQ(all<rt::OutputOp>(entry)[0].getTensor(), RankedTensorType::get({6}, Float32Type::get(&context)))
      << "as declared";
}

TEST_F(FrameTest, TheSignatureIsComplete) {
  func::FuncOp entry = frameOf(
      "func.func @main(%x: tensor<2x3xf32>, %u: tensor<5xi64> {graph.name = \"unused\"}) -> tensor<2x3xf32> {\n" +
      relu("%y", "%x") + "  return %y : tensor<2x3xf32>\n}\n");
  auto inputs = all<rt::InputOp>(entry);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].getName(), "input0") << "a fallback: hand-written modules have no names";
  EXPECT_EQ(inputs[1].getName(), "unused");
  EXPECT_EQ(inputs[1].getBuffer().getType().getSizeBytes(), 40u);
  EXPECT_EQ(all<rt::OutputOp>(entry)[0].getName(), "output0");
}

const char *twoMatmuls = R"mlir(
module attributes {graph.files = ["m.onnx"]} {
func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  %w = graph.constant dense<1.0> : tensor<3x3xf32>
  %h = graph.group "matmul"(%x, %w) : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>):
    %r = graph.matmul %a, %b : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
    graph.yield %r : tensor<2x3xf32>
  } loc("one")
  %y = graph.group "matmul"(%h, %w) : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>):
    %r = graph.matmul %a, %b : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
    graph.yield %r : tensor<2x3xf32>
  } loc("two")
  return %y : tensor<2x3xf32>
}
})mlir";

TEST_F(FrameTest, AConstantOncePerLayout) {
  func::FuncOp plain = frameOf(twoMatmuls);
  EXPECT_EQ(all<rt::ConstOp>(plain).size(), 1u);

  change = [&](graph::GroupOp group, GroupKernel &kernel) {
    if (kernel.symbol == "k1")
      kernel.inputPanels[1] = rt::PanelsAttr::get(&context, 8, false, 3, 3);
  };
  func::FuncOp packed = frameOf(twoMatmuls);
  auto constants = all<rt::ConstOp>(packed);
  ASSERT_EQ(constants.size(), 2u);
  EXPECT_EQ(constants[0].getBuffer().getType().getSizeBytes(), 36u);
  EXPECT_EQ(constants[1].getBuffer().getType().getSizeBytes(), 8u * 3 * 4) << "a whole panel";
  EXPECT_TRUE(succeeded(verify(*frame)));
}

TEST_F(FrameTest, WhatTheTargetSaidReachesTheLaunch) {
  change = [](graph::GroupOp, GroupKernel &kernel) {
    kernel.symbol = "shared";
    kernel.grid = 7, kernel.chunk = 2, kernel.scratchBytes = 192;
    kernel.inPlace = {{0}};
  };
  func::FuncOp entry = frameOf(twoMatmuls);
  auto kernels = llvm::to_vector(frame->getOps<rt::KernelOp>());
  ASSERT_EQ(kernels.size(), 1u) << "declared once";
  EXPECT_EQ(kernels[0].getScratchBytes(), 192u);
  auto launch = all<rt::LaunchOp>(entry)[0];
  EXPECT_EQ(launch.getGrid(), 7u);
  EXPECT_EQ(launch.getChunk(), 2u);
  EXPECT_EQ(cast<DenseI64ArrayAttr>(launch.getInPlace()[0]).asArrayRef(), ArrayRef<int64_t>{0});
  EXPECT_EQ(launch.getFlops().convertToDouble(), 2 * 2 * 3 * 3);
  EXPECT_EQ(launch.getBytes().convertToDouble(), 24 + 36 + 24);
  EXPECT_EQ((*frame)->getAttr("rt.files"), (*module)->getAttr("graph.files"));
}

TEST_F(FrameTest, UnnamedGroupsGoByTheirKernel) {
  func::FuncOp entry = frameOf(mainOf(relu("%h", "%x") + relu("%y", "%h") + "  return %y : tensor<2x3xf32>\n"));
  EXPECT_EQ(launchesOf(entry), "k0: input x -> alloc k0\nk1: alloc k0 -> output y\n");
}

TEST_F(FrameTest, OtherOpsAreRefused) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) { message = d.str(); });
  frameOf(mainOf("  %r = graph.unary relu %x : tensor<2x3xf32> -> tensor<2x3xf32>\n  return %x : tensor<2x3xf32>\n"));
  EXPECT_FALSE(frame);
  EXPECT_EQ(message, "'graph.unary' op may not appear in the grouped stage");
}

TEST(SizeBytes, WholeBytesPerElement) {
  MLIRContext context;
  auto size = [](ArrayRef<int64_t> shape, Type element) { return sizeBytes(RankedTensorType::get(shape, element)); };
  EXPECT_EQ(size({3, 5}, IntegerType::get(&context, 1)), 15u);
  EXPECT_EQ(size({3, 5}, Float16Type::get(&context)), 30u);
  EXPECT_EQ(size({}, IntegerType::get(&context, 64)), 8u);
  EXPECT_EQ(size({0, 7}, Float32Type::get(&context)), 0u);
}

} // namespace
