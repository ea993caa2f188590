//===- TensorProtoTest.cpp - reading input_0.pb ---------------------------===//
#include "tools/gaudi-run/io/TensorProto.h"
#include "IoSupport.h"

using namespace gaudi;
using namespace gaudi::io;

static Expected<Array> parse(const std::string &file) { return parseTensorProto(bytesOf(file), "input_0.pb"); }
static std::string errorOf(const std::string &file) { return parse(file).status().message(); }

static std::string varint(uint64_t v) {
  std::string out;
  for (; v >= 128; v >>= 7)
    out.push_back(static_cast<char>(v | 128));
  return out + static_cast<char>(v);
}
static std::string number(int field, uint64_t v) { return varint(uint64_t(field) << 3) + varint(v); }
static std::string bytes(int field, const std::string &b) {
  return varint(uint64_t(field) << 3 | 2) + varint(b.size()) + b;
}

TEST(TensorProto, RawData) {
  auto array = parse(number(1, 2) + number(1, 1) + number(2, 1) + bytes(8, "ids") + bytes(9, raw<float>({1.5, -2})));
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(toString(array->spec), "f32[2,1]");
  EXPECT_EQ(array->spec.name, "ids");
  EXPECT_EQ(array->as<float>()[1], -2);
}

TEST(TensorProto, TypedDataPackedOrNot) {
  std::string packedDims = bytes(1, varint(3));
  auto floats = parse(packedDims + number(2, 1) + bytes(4, raw<float>({1, 2, 3})));
  ASSERT_TRUE(floats.ok()) << floats.status().message();
  EXPECT_EQ(floats->as<float>()[2], 3);
  auto ints = parse(packedDims + number(2, 7) + number(7, 5) + number(7, uint64_t(-6)) + number(7, 7));
  ASSERT_TRUE(ints.ok()) << ints.status().message();
  EXPECT_EQ(ints->as<int64_t>()[1], -6);
  auto narrow = parse(packedDims + number(2, 3) + bytes(5, varint(1) + varint(uint64_t(-1)) + varint(127)));
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ(narrow->as<int8_t>()[1], -1);
  auto half = parse(packedDims + number(2, 10) + bytes(5, varint(0x3c00) + varint(0) + varint(0)));
  EXPECT_EQ(half->as<uint16_t>()[0], 0x3c00);
  auto scalar = parse(number(2, 11) + bytes(10, raw<double>({4})));
  EXPECT_EQ(scalar->as<double>()[0], 4);
  auto empty = parse(number(1, 0) + number(2, 1));
  ASSERT_TRUE(empty.ok()) << empty.status().message();
}

TEST(TensorProto, Refuses) {
  std::string head = number(1, 4) + number(2, 1) + bytes(8, "w");
  EXPECT_EQ(errorOf(""), "input_0.pb: not a TensorProto: file is empty");
  EXPECT_EQ(errorOf("\x0a"), "input_0.pb: not a TensorProto, or truncated at byte 0 of 1");
  EXPECT_EQ(errorOf(number(1, 4)), "input_0.pb: not a TensorProto: no data_type");
  EXPECT_EQ(errorOf(head + bytes(9, "123456789012")), "input_0.pb: 'w': has 12 bytes, shape f32[4] needs 16");
  EXPECT_EQ(errorOf(head + bytes(9, std::string(16, 'x')) + bytes(4, raw<float>({1}))),
            "input_0.pb: 'w': two data fields");
  EXPECT_EQ(errorOf(head + bytes(4, "") + bytes(5, "")), "input_0.pb: two data fields");
  EXPECT_EQ(errorOf(head + bytes(7, varint(1))), "input_0.pb: 'w': data is in field 7, its type needs field 4");
  EXPECT_EQ(errorOf(head + bytes(4, raw<float>({1, 2, 3, 4, 5}))),
            "input_0.pb: 'w': more data than shape f32[4] holds, or damaged");
  EXPECT_EQ(errorOf(number(1, uint64_t(-5)) + number(2, 1) + bytes(8, "w")), "input_0.pb: 'w': negative dimension -5");
  EXPECT_EQ(errorOf(number(1, 1ull << 40) + number(1, 1ull << 40) + number(2, 1) + bytes(8, "w")),
            "input_0.pb: 'w': element count overflows");
  EXPECT_EQ(errorOf(number(1, 1 << 30) + number(2, 1) + bytes(8, "w")),
            "input_0.pb: 'w': shape f32[1073741824] needs 4.0 GiB, file has 11 bytes");
  EXPECT_EQ(errorOf(number(2, 8)), "input_0.pb: TensorProto data_type 8 (string) is not supported");
  EXPECT_EQ(errorOf(head + bytes(13, "x")), "input_0.pb: TensorProto with external data is not supported");
  EXPECT_EQ(errorOf(head + number(14, 1)), "input_0.pb: TensorProto with external data is not supported");
  EXPECT_EQ(errorOf(bytes(1, std::string(40, '\1')) + number(2, 1)), "input_0.pb: more than 32 dimensions");
}
