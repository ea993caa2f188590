//===- TapsTest.cpp - intermediate values as extra results ---------------===//
#include "DriverTest.h"

#include "lib/Driver/Taps.h"

using namespace mlir;
using namespace gaudi;

namespace {

struct TapsTest : test::DriverTest {
  /// The names of @main's results after addTaps.
  std::vector<std::string> tapped(const std::string &body, const std::string &results) {
    func::FuncOp main = parse("func.func @main(%x: tensor<4xf32>) -> (" + results + ") {\n" + body + "\n}");
    size_t before = main.getNumResults();
    unsigned added = driver::addTaps(main);
    EXPECT_EQ(main.getNumResults(), before + added);
    EXPECT_EQ(main.front().getTerminator()->getNumOperands(), main.getNumResults());
    std::vector<std::string> names;
    for (unsigned i = 0; i < main.getNumResults(); ++i) {
      auto name = main.getResultAttrOfType<StringAttr>(i, "graph.name");
      names.push_back(name ? name.str() : "");
    }
    return names;
  }
  /// `%y = exp(%x)` in a group, at a location.
  static std::string group(const std::string &y, const std::string &x, const std::string &loc) {
    return y + " = graph.group \"pointwise\"(" + x +
           ") : (tensor<4xf32>) -> tensor<4xf32> {\n^bb0(%a: tensor<4xf32>):\n" +
           "%b = graph.unary exp %a : tensor<4xf32> -> tensor<4xf32> loc(" + loc +
           ")\ngraph.yield %b : tensor<4xf32>\n}\n";
  }
};

constexpr const char *oneResult = "tensor<4xf32> {graph.name = \"out\"}";

TEST_F(TapsTest, NamedValuesInTheOrderOfExecution) {
  EXPECT_EQ(tapped(group("%0", "%x", "\"n0\"(\"v0\")") + group("%1", "%0", "\"n1\"(\"v1\")") +
                       group("%2", "%1", "\"n2\"(\"v2\")") + "return %2 : tensor<4xf32>",
                   oneResult),
            (std::vector<std::string>{"out", "tap:v0", "tap:v1"}))
      << "what is an output needs no tap";
}

TEST_F(TapsTest, StepsOnTheWayHaveNone) {
  EXPECT_EQ(tapped(group("%0", "%x", "\"n0\"") + group("%1", "%0", "\"n1\"(\"v1\")") + "return %1 : tensor<4xf32>",
                   oneResult),
            std::vector<std::string>{"out"});
}

TEST_F(TapsTest, OfTwoWithOneNameTheLaterIsTheValue) {
  EXPECT_EQ(tapped(group("%0", "%x", "\"n\"(\"v\")") + group("%1", "%0", "\"m\"(\"w\")") +
                       group("%2", "%1", "\"n\"(\"v\")") + group("%3", "%2", "\"o\"(\"out\")") +
                       "return %3 : tensor<4xf32>",
                   oneResult),
            (std::vector<std::string>{"out", "tap:w", "tap:v"}));
}

TEST_F(TapsTest, TheLastPartOfAFusedLocationCounts) {
  EXPECT_EQ(tapped(group("%0", "%x", "fused[\"a\"(\"inner\"), \"b\"(\"outer\")]") + group("%1", "%0", "\"c\"") +
                       "return %1 : tensor<4xf32>",
                   oneResult),
            (std::vector<std::string>{"out", "tap:outer"}));
}

TEST_F(TapsTest, AViewLendsItsName) {
  EXPECT_EQ(tapped(group("%0", "%x", "\"n\"") +
                       "%v = graph.reshape %0 {shape = array<i64: 2, 2>} : tensor<4xf32> -> tensor<2x2xf32> "
                       "loc(\"r\"(\"view\"))\n" +
                       group("%1", "%0", "\"m\"") + "return %1, %v : tensor<4xf32>, tensor<2x2xf32>",
                   "tensor<4xf32> {graph.name = \"out\"}, tensor<2x2xf32>"),
            (std::vector<std::string>{"out", ""}))
      << "returned as a view already";
  EXPECT_EQ(tapped(group("%0", "%x", "\"n\"") +
                       "%v = graph.reshape %0 {shape = array<i64: 4, 1>} : tensor<4xf32> -> tensor<4x1xf32> "
                       "loc(\"r\"(\"view\"))\n" +
                       group("%1", "%0", "\"m\"") + "return %1 : tensor<4xf32>",
                   oneResult),
            (std::vector<std::string>{"out", "tap:view"}));
}

} // namespace
