//===- JsonTest.cpp - JSON text -------------------------------------------===//
#include "runtime/cache/Json.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace gaudi;

TEST(Json, NestsAndSeparates) {
  json::Writer w;
  w.beginObject().field("a", 1).key("b").beginArray().value(0.5).value(true).value("x").endArray().endObject();
  EXPECT_EQ(w.text(), R"({"a":1,"b":[0.5,true,"x"]})");
}

TEST(Json, EscapesAndMendsBytes) {
  EXPECT_EQ(json::quote("a\"\\\n\t\x01"), R"("a\"\\\n\t\u0001")");
  EXPECT_EQ(json::quote("ü✓𝄞"), "\"ü✓𝄞\"");
  EXPECT_EQ(json::quote("\xff\xc0\xaf\xed\xa0\x80"),
            "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(Json, NumbersReadBackAndNonFiniteIsNull) {
  EXPECT_EQ(json::number(0.1), "0.1");
  EXPECT_EQ(json::number(NAN), "null");
  EXPECT_EQ(json::number(INFINITY), "null");
}
