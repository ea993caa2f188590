//===- LiteralsTest.cpp - TensorProto -> checked bytes --------------------===//
#include "test/import/ModelBuilder.h"

#include <cstring>

using namespace gaudi;
using namespace gaudi::test;

static const TensorLiteral &onlyLiteral(const Parsed &parsed) {
  return parsed.model->literal(parsed.model->proto().graph().initializer(0));
}

template <typename T> static std::vector<T> valuesOf(const TensorLiteral &literal) {
  std::vector<T> values(literal.bytes.size() / sizeof(T));
  std::memcpy(values.data(), literal.bytes.data(), literal.bytes.size());
  return values;
}

TEST(Literals, RawDataIsUsedInPlace) {
  auto model = emptyModel();
  addTensor(model, "w", {500})->set_raw_data(std::string(2000, 'x'));
  auto parsed = parse(model);
  ASSERT_EQ(errorOf(parsed), "ok");
  const TensorLiteral &literal = onlyLiteral(parsed);
  ASSERT_TRUE(literal.ref);
  EXPECT_EQ(literal.ref->file, 0u);
  EXPECT_EQ(literal.bytes.data(), reinterpret_cast<const std::byte *>(parsed.bytes->data()) + literal.ref->offset);
}

/// Each typed field, small (parsed by protobuf) and large (cut out and decoded by us).
TEST(Literals, TypedFields) {
  for (int count : {3, 3000}) {
    auto model = emptyModel();
    auto *f16 = addTensor(model, "f16", {count}, ::onnx::TensorProto::FLOAT16);
    auto *i8 = addTensor(model, "i8", {count}, ::onnx::TensorProto::INT8);
    auto *i64 = addTensor(model, "i64", {count}, ::onnx::TensorProto::INT64);
    auto *f64 = addTensor(model, "f64", {count}, ::onnx::TensorProto::DOUBLE);
    auto *u32 = addTensor(model, "u32", {count}, ::onnx::TensorProto::UINT32);
    for (int i = 0; i < count; ++i) {
      f16->add_int32_data(0x3c00 + i);
      i8->add_int32_data(-(i % 100));
      i64->add_int64_data(-int64_t(i) << 40);
      f64->add_double_data(i / 8.0);
      u32->add_uint64_data(4'000'000'000u + i);
    }
    auto parsed = parse(model);
    ASSERT_EQ(errorOf(parsed), "ok");
    auto literal = [&](int i) { return parsed.model->literal(parsed.model->proto().graph().initializer(i)); };
    EXPECT_EQ(valuesOf<uint16_t>(literal(0))[2], 0x3c02);
    EXPECT_EQ(valuesOf<int8_t>(literal(1))[2], -2);
    EXPECT_EQ(valuesOf<int64_t>(literal(2))[2], -int64_t(2) << 40);
    EXPECT_EQ(valuesOf<double>(literal(3))[2], 0.25);
    EXPECT_EQ(valuesOf<uint32_t>(literal(4))[2], 4'000'000'002u);
    EXPECT_EQ(literal(2).ref.has_value(), count == 3000);
  }
}

TEST(Literals, EmptyTensorNeedsNoData) {
  auto model = emptyModel();
  addTensor(model, "w", {0, 5});
  auto parsed = parse(model);
  ASSERT_EQ(errorOf(parsed), "ok");
  EXPECT_TRUE(onlyLiteral(parsed).bytes.empty());
}

TEST(Literals, ForeignTypesAreMarked) {
  auto model = emptyModel();
  addTensor(model, "w", {1}, ::onnx::TensorProto::STRING)->add_string_data("x");
  auto parsed = parse(model);
  ASSERT_EQ(errorOf(parsed), "ok");
  EXPECT_EQ(onlyLiteral(parsed).unsupportedType, "tensor(string)");
}

static std::string errorWith(std::initializer_list<int64_t> dims, size_t rawBytes,
                             int32_t type = ::onnx::TensorProto::FLOAT) {
  auto model = emptyModel();
  addTensor(model, "w", dims, type)->set_raw_data(std::string(rawBytes, '\2'));
  return errorOf(parse(model));
}

TEST(Literals, Errors) {
  EXPECT_EQ(errorWith({int64_t(1) << 40, int64_t(1) << 40}, 4), "'w': element count overflows");
  EXPECT_EQ(errorWith({-5}, 4), "'w': negative dimension -5");
  EXPECT_EQ(errorWith({4, 4}, 12), "'w': has 12 bytes, shape [4,4] f32 needs 64");
  EXPECT_EQ(errorWith({4, 4}, 12000), "'w': has 12000 bytes, shape [4,4] f32 needs 64");
  EXPECT_EQ(errorWith({1, 1, 1, 1, 1, 1, 1, 1, 1}, 4), "'w': rank 9 is above the limit of 8");
  EXPECT_EQ(errorWith({int64_t(1) << 41}, 4), "'w': 2199023255552 elements are above the limit of 1099511627776");
  EXPECT_EQ(errorWith({2}, 2, ::onnx::TensorProto::BOOL), "'w': has a bool that is neither 0 nor 1");
}

TEST(Literals, TwoDataFields) {
  auto model = emptyModel();
  auto *tensor = addTensor(model, "w", {1});
  tensor->set_raw_data("abcd");
  tensor->add_float_data(1);
  EXPECT_EQ(errorOf(parse(model)), "'w': two data fields");
}

TEST(Literals, WrongField) {
  auto model = emptyModel();
  addTensor(model, "w", {1})->add_int64_data(1);
  EXPECT_EQ(errorOf(parse(model)), "'w': type f32 cannot be in int64_data (expected float_data)");
}
