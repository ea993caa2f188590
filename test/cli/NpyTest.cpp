//===- NpyTest.cpp - reading and writing .npy -----------------------------===//
#include "tools/gaudi-run/io/Npy.h"
#include "IoSupport.h"

#include <fstream>

using namespace gaudi;
using namespace gaudi::io;

static Expected<Array> parse(const std::string &file, Limits limits = {}) {
  return parseNpy(bytesOf(file), "f.npy", limits);
}
static std::string errorOf(const std::string &file, Limits limits = {}) {
  return parse(file, limits).status().message();
}

static std::string dict(const char *descr, const char *shape, const char *fortran = "False") {
  return std::string("{'descr': '") + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

TEST(Npy, ReadsEveryType) {
  struct Row {
    const char *descr;
    DType dtype;
    size_t width;
  };
  for (Row row : {Row{"<f4", DType::F32, 4},
                  {"<f2", DType::F16, 2},
                  {"<V2", DType::BF16, 2},
                  {"|V2", DType::BF16, 2},
                  {"<f8", DType::F64, 8},
                  {"|i1", DType::I8, 1},
                  {"<i2", DType::I16, 2},
                  {"<i4", DType::I32, 4},
                  {"<i8", DType::I64, 8},
                  {"|u1", DType::U8, 1},
                  {"<u2", DType::U16, 2},
                  {"=u4", DType::U32, 4},
                  {"<u8", DType::U64, 8},
                  {"|b1", DType::Bool, 1}}) {
    auto array = parse(npyOf(dict(row.descr, "(3,)"), std::string(3 * row.width, 1)));
    ASSERT_TRUE(array.ok()) << row.descr << array.status().message();
    EXPECT_EQ(array->spec.dtype, row.dtype);
    EXPECT_EQ(array->spec.shape, std::vector<int64_t>{3});
  }
}

TEST(Npy, ConvertsFortranOrderAndBigEndian) {
  auto fortran = parse(npyOf(dict("<i4", "(2, 3)", "True"), raw<int32_t>({1, 4, 2, 5, 3, 6})));
  ASSERT_TRUE(fortran.ok()) << fortran.status().message();
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(fortran->as<int32_t>()[i], i + 1);
  auto big = parse(npyOf(dict(">f4", "(2,)"), std::string("\x3f\x80\0\0\x40\0\0\0", 8)));
  ASSERT_TRUE(big.ok());
  EXPECT_EQ(big->as<float>()[0], 1.0f);
  EXPECT_EQ(big->as<float>()[1], 2.0f);
  auto cube = parse(npyOf(dict(">i2", "(2, 2, 2)", "True"), std::string("\0\0\0\4\0\2\0\6\0\1\0\5\0\3\0\7", 16)));
  ASSERT_TRUE(cube.ok());
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(cube->as<int16_t>()[i], i);
}

TEST(Npy, ScalarsEmptiesAndBools) {
  auto scalar = parse(npyOf(dict("<f8", "()"), raw<double>({2.5})));
  ASSERT_TRUE(scalar.ok());
  EXPECT_TRUE(scalar->spec.shape.empty());
  auto empty = parse(npyOf(dict("<f4", "(0, 7)", "True"), ""));
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->spec.elementCount(), 0);
  auto bools = parse(npyOf(dict("|b1", "(3,)"), std::string("\0\1\7", 3)));
  EXPECT_EQ(bools->as<uint8_t>()[2], 1);
}

TEST(Npy, Versions2And3And9) {
  std::string d = dict("<f4", "(1,)"), data = raw<float>({7});
  for (char version : {'\2', '\3'}) {
    std::string file =
        std::string("\x93NUMPY") + version + '\0' + static_cast<char>(d.size()) + std::string(3, '\0') + d + data;
    auto array = parse(file);
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->as<float>()[0], 7);
  }
  std::string nine = npyOf(d, data);
  nine[6] = 9;
  EXPECT_EQ(errorOf(nine), "f.npy: npy version 9 unsupported (found 9.0, expected 1.0 to 3.0)");
}

// knowledge/runtime.md 6.3 row 34.
TEST(Npy, RefusesWhatItMust) {
  EXPECT_EQ(errorOf(""), "f.npy: not an npy file: file is empty");
  EXPECT_EQ(errorOf("\xff\xd8\xff\xe0 a JPEG, say"), "f.npy: not an npy file (wrong magic)");
  EXPECT_EQ(errorOf(npyOf(dict("|O", "(1,)"), "x")),
            "f.npy: object arrays refused (they are pickles, which can run code)");
  EXPECT_EQ(errorOf(npyOf(dict("<c8", "(1,)"), "x")), "f.npy: dtype '<c8' is not supported");
  EXPECT_EQ(errorOf(npyOf(dict("<U5", "(1,)"), "x")), "f.npy: dtype '<U5' is not supported");
  EXPECT_EQ(errorOf(npyOf("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "")),
            "f.npy: structured dtypes are not supported");
  std::string lie = npyOf(dict("<f4", "(1,)"), "1234");
  lie[8] = lie[9] = '\xff'; // header length 65535
  EXPECT_EQ(errorOf(lie), "f.npy: truncated in the npy header (found " + std::to_string(lie.size()) +
                              " bytes, expected at least 65545)");
  std::string huge = std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12);
  EXPECT_EQ(errorOf(huge), "f.npy: npy header of 4294967295 bytes; limit 65536");
  EXPECT_EQ(errorOf(std::string("\x93NUMPY\2\0\1\0", 10)),
            "f.npy: truncated in the npy header (found 10 bytes, expected at least 12)");
}

TEST(Npy, ChecksSizesBeforeAllocating) {
  EXPECT_EQ(errorOf(npyOf(dict("<f4", "(2, 3)"), "1234")),
            "f.npy: truncated (found 4 bytes of data, expected 24 for f32[2,3])");
  EXPECT_EQ(errorOf(npyOf(dict("<f4", "(1,)"), "123456")),
            "f.npy: has trailing bytes (found 6 bytes of data, expected 4 for f32[1])");
  EXPECT_EQ(errorOf(npyOf(dict("<f4", "(1099511627776, 1099511627776)"), "")),
            "f.npy: element count overflows in f32[1099511627776,1099511627776]");
  EXPECT_EQ(errorOf(npyOf(dict("<f4", "(1000,)"), ""), {.maxBytes = 100}),
            "f.npy: f32[1000] is 3.9 KiB; limit 100 bytes");
}

TEST(Npy, MalformedHeaders) {
  const char *shape = "f.npy: npy shape is malformed, negative or has more than 32 dimensions";
  EXPECT_EQ(errorOf(npyOf(dict("<f4", "(-1,)"), "")), shape);
  EXPECT_EQ(errorOf(npyOf(dict("<f4", "(99999999999999999999,)"), "")), shape);
  EXPECT_EQ(errorOf(npyOf(dict("<f4", "(3)"), "")), shape);
  EXPECT_EQ(errorOf(npyOf("{'descr': '<f4'}", "")), "f.npy: npy header is malformed");
  EXPECT_EQ(errorOf(npyOf("", "")), "f.npy: npy header is malformed");
  EXPECT_EQ(errorOf(npyOf("{'x': 1}", "")), "f.npy: npy header has an unknown or repeated key 'x'");
  EXPECT_EQ(errorOf(npyOf("{'descr': '<f4', 'descr': '<f8'}", "")),
            "f.npy: npy header has an unknown or repeated key 'descr'");
}

TEST(Npy, WritesWhatItReads) {
  TempDir dir;
  std::string path = dir.path + "/ä b.npy";
  for (TensorSpec spec :
       {TensorSpec{"", DType::F32, {2, 3}}, {"", DType::BF16, {5}}, {"", DType::I64, {}}, {"", DType::Bool, {0, 4}}}) {
    Array array = Array::zeros(spec);
    for (size_t i = 0; i < spec.sizeBytes(); ++i)
      array.as<uint8_t>()[i] = static_cast<uint8_t>(spec.dtype == DType::Bool ? i & 1 : i);
    ASSERT_TRUE(writeNpy(path, spec, array.view()).ok());
    auto back = readNpy(path);
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(toString(back->spec), toString(spec));
    EXPECT_EQ(memcmp(back->data.get(), array.data.get(), spec.sizeBytes()), 0);
  }
  EXPECT_EQ(npyHeader({"", DType::F32, {2, 3}}).size() % 64, 0u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path), {}), 1); // no temporary left
}

TEST(Npy, WriteErrorsNameTheFile) {
  Status status = writeNpy("/nonexistent/x.npy", {"", DType::F32, {}}, {});
  EXPECT_EQ(status.message(), "/nonexistent/x.npy: cannot create: No such file or directory");
  EXPECT_EQ(status.code(), StatusCode::Runtime);
  EXPECT_EQ(writeNpy("/dev/full", {"", DType::F32, {}}, {}).message(),
            "/dev/full: cannot write: No space left on device");
}
