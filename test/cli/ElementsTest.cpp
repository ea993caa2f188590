//===- ElementsTest.cpp - single elements of any type ---------------------===//
#include "tools/gaudi-run/Elements.h"
#include "tools/gaudi-run/Literal.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace gaudi;
using namespace gaudi::run;

TEST(Elements, EveryHalfSurvives) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = halfToFloat(static_cast<uint16_t>(bits));
    if (!std::isnan(value))
      ASSERT_EQ(floatToHalf(value), bits);
    else
      ASSERT_TRUE(std::isnan(halfToFloat(floatToHalf(value))));
  }
}

TEST(Elements, RoundingIsToNearestEven) {
  // The compiler's own _Float16 is the second implementation.
  for (uint32_t i = 0; i < 200'000; ++i) {
    float value = std::bit_cast<float>(i * 21'473u + 7);
    if (std::isnan(value))
      continue;
    ASSERT_EQ(floatToHalf(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
  EXPECT_EQ(floatToBfloat(1.00390625f), 0x3f80); // halfway, to even
  EXPECT_EQ(floatToBfloat(1.01171875f), 0x3f82);
  EXPECT_EQ(floatToBfloat(NAN) & 0x7fff, 0x7fc0);
}

TEST(Elements, StoresAndLoadsEveryType) {
  for (int t = 0; t <= static_cast<int>(DType::Bool); ++t) {
    alignas(8) char data[16] = {};
    storeElement(static_cast<DType>(t), data, 1, 1);
    EXPECT_EQ(loadElement(static_cast<DType>(t), data, 1), 1) << t;
    EXPECT_EQ(loadElement(static_cast<DType>(t), data, 0), 0) << t;
  }
}

TEST(Literal, RoundTrips) {
  for (const char *text : {"f32[3]=1,-0.1,inf", "f16[2]=0.33325195,-2", "i64[2,1]=-9223372036854775808,7", "u8[1]=255",
                           "bool[2]=0,1", "f64[1]=0.1", "bf16[1]=1.5", "i32[0]=", "i64[]=3"}) {
    std::string whole = text;
    size_t equals = whole.find('=');
    auto spec = parseType(whole.substr(0, equals));
    ASSERT_TRUE(spec) << text;
    auto array = parseLiteral(whole.substr(equals + 1), *spec, "x");
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(formatLiteral(*spec, array->data.get()), text);
  }
  float values[] = {1, 2, 3};
  EXPECT_EQ(formatLiteral({"", DType::F32, {3}}, values, 2), "f32[3]=1,2,...");
}

TEST(Literal, Errors) {
  auto message = [](const char *text, TensorSpec spec) { return parseLiteral(text, spec, "x").status().message(); };
  EXPECT_EQ(message("1,2", {"", DType::F32, {3}}), "x: wrong number of values (found 2, expected 3 for f32[3])");
  EXPECT_EQ(message("1,b", {"", DType::F32, {2}}), "x: value 1 is not a f32 (found 'b')");
  EXPECT_EQ(message("256", {"", DType::U8, {1}}), "x: value 0 is not a u8 (found '256')");
  EXPECT_EQ(message("1.5", {"", DType::I32, {1}}), "x: value 0 is not a i32 (found '1.5')");
  for (const char *bad : {"f32", "f32[", "f33[1]", "f32[-1]", "f32[a]", "f32[4611686018427387904,4]"})
    EXPECT_FALSE(parseType(bad)) << bad;
}
