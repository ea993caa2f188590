//===- NamesTest.cpp - names of launches, element types of the runtime ----===//
#include "lib/Driver/Names.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::driver;

namespace {

struct Names : testing::Test {
  MLIRContext context;
  Location name(StringRef text) { return NameLoc::get(StringAttr::get(&context, text)); }
  Location fused(ArrayRef<Location> parts) { return FusedLoc::get(&context, parts); }
};

TEST_F(Names, OfLocations) {
  EXPECT_EQ(launchName(UnknownLoc::get(&context)), "");
  EXPECT_EQ(launchName(FileLineColLoc::get(&context, "m.mlir", 3, 5)), "");
  EXPECT_EQ(launchName(name("dense/MatMul")), "dense/MatMul");
  EXPECT_EQ(launchName(NameLoc::get(StringAttr::get(&context, "outer"), name("inner"))), "outer");
}

TEST_F(Names, OfGroups) {
  EXPECT_EQ(launchName(fused({name("a"), name("b")})), "a + b");
  EXPECT_EQ(launchName(fused({name("a"), name("b"), name("c")})), "a + b + c");
  EXPECT_EQ(launchName(fused({name("a"), name("b"), name("c"), name("d"), name("e")})), "a + b + c + 2 more");
}

TEST_F(Names, EachNodeOnceAndInOrder) {
  EXPECT_EQ(launchName(fused({name("b"), name("a"), name("b"), UnknownLoc::get(&context)})), "b + a");
  EXPECT_EQ(launchName(fused({fused({name("a"), name("b")}), fused({name("b"), name("c")})})), "a + b + c");
}

TEST_F(Names, ElementTypes) {
  auto integer = [&](unsigned width, bool isUnsigned = false) {
    return dtypeOf(IntegerType::get(&context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless));
  };
  EXPECT_EQ(dtypeOf(Float64Type::get(&context)), DType::F64);
  EXPECT_EQ(dtypeOf(Float32Type::get(&context)), DType::F32);
  EXPECT_EQ(dtypeOf(Float16Type::get(&context)), DType::F16);
  EXPECT_EQ(dtypeOf(BFloat16Type::get(&context)), DType::BF16);
  EXPECT_EQ(integer(1), DType::Bool);
  EXPECT_EQ(integer(8), DType::I8);
  EXPECT_EQ(integer(16), DType::I16);
  EXPECT_EQ(integer(32), DType::I32);
  EXPECT_EQ(integer(64), DType::I64);
  EXPECT_EQ(integer(8, true), DType::U8);
  EXPECT_EQ(integer(16, true), DType::U16);
  EXPECT_EQ(integer(32, true), DType::U32);
  EXPECT_EQ(integer(64, true), DType::U64);
}

} // namespace
