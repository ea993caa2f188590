//===- InputsTest.cpp - values for a signature ----------------------------===//
#include "tools/gaudi-run/Inputs.h"
#include "IoSupport.h"
#include "tools/gaudi-run/io/Npz.h"

#include <fstream>

using namespace gaudi;
using namespace gaudi::run;
using gaudi::io::TempDir;

static const std::vector<TensorSpec> signature = {{"input_ids", DType::I64, {1, 4}},
                                                  {"attention_mask", DType::F32, {1, 4}}};

static Expected<std::vector<io::Array>> build(std::vector<std::string> inputs, std::string dir = "") {
  Options options;
  options.inputs = std::move(inputs);
  options.inputsDir = std::move(dir);
  Expected<InputSet> set = parseInputs(options);
  return set.ok() ? buildInputs(set.take(), signature) : Expected<std::vector<io::Array>>(set.takeStatus());
}
static std::string errorOf(std::vector<std::string> inputs, std::string dir = "") {
  return build(std::move(inputs), std::move(dir)).status().message();
}

TEST(Inputs, GeneratorsAndLiterals) {
  auto arrays = build({"input_ids=1,2,3,4", "attention_mask=f32[1,4]=1,1,0,0"});
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_EQ((*arrays)[0].as<int64_t>()[3], 4);
  EXPECT_EQ((*arrays)[1].as<float>()[1], 1);
  arrays = build({"input_ids=ids:max=3,seed=9", "attention_mask=ones"});
  for (int i = 0; i < 4; ++i) {
    EXPECT_LT((*arrays)[0].as<int64_t>()[i], 3);
    EXPECT_EQ((*arrays)[1].as<float>()[i], 1);
  }
}

TEST(Inputs, RandomDependsOnSeedAndNameOnly) {
  auto a = build({"input_ids=zeros", "attention_mask=random:seed=7,range=-2..5"}),
       b = build({"*=random:seed=7,range=-2..5"}), c = build({"*=random:seed=8,range=-2..5"});
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  bool differs = false;
  for (int i = 0; i < 4; ++i) {
    float v = (*a)[1].as<float>()[i];
    EXPECT_TRUE(v >= -2 && v < 5);
    EXPECT_EQ(v, (*b)[1].as<float>()[i]);
    differs |= v != (*c)[1].as<float>()[i];
  }
  EXPECT_TRUE(differs);
}

// knowledge/runtime.md 6.3 rows 33 and 36.
TEST(Inputs, ErrorsNameTheSignature) {
  EXPECT_EQ(errorOf({"input_idz=zeros"}), "no input 'input_idz'; did you mean 'input_ids'?");
  EXPECT_EQ(build({"input_idz=zeros"}).status().hint(), "inputs: input_ids, attention_mask");
  EXPECT_EQ(errorOf({"input_ids=f64[1,127]=" + std::string(126 * 2, '0')}).substr(0, 48),
            "--input input_ids: wrong number of values (found");
  EXPECT_EQ(errorOf({"input_ids=f64[1,2]=1,2", "attention_mask=ones"}),
            "input 'input_ids': got f64[1,2], need i64[1,4]");
  Expected<std::vector<io::Array>> type = build({"input_ids=i32[1,4]=1,2,3,4", "attention_mask=ones"});
  EXPECT_EQ(type.status().message(), "input 'input_ids': got i32[1,4], need i64[1,4]");
  EXPECT_EQ(type.status().hint(), "convert the file, in numpy: a.astype('i64')");
  EXPECT_EQ(errorOf({}), "no value for inputs 'input_ids', 'attention_mask'; the inputs are:\n"
                         "  input_ids       i64[1,4]\n  attention_mask  f32[1,4]");
  EXPECT_EQ(build({}).status().hint(),
            "add --input 'input_ids=ids' --input 'attention_mask=random', or --input '*=random'");
  EXPECT_EQ(build({}).status().code(), StatusCode::Usage);
}

TEST(Inputs, ErrorsOfTheFlag) {
  EXPECT_EQ(errorOf({"x"}), "--input: no name (found 'x', expected NAME=VALUE)");
  EXPECT_EQ(errorOf({"x=zeros", "x=ones"}), "--input x: given twice");
  EXPECT_EQ(errorOf({"x=frobnicate"}), "--input x: cannot read 'frobnicate'");
  EXPECT_EQ(errorOf({"x=f33[1]=1"}), "--input x: cannot read 'f33[1]' as a type");
  EXPECT_EQ(errorOf({"x=random:sed=1"}), "--input x: cannot read 'sed=1'");
  EXPECT_EQ(errorOf({"x=random:range=3..1"}), "--input x: cannot read 'range=3..1'");
  EXPECT_EQ(errorOf({"x=ids:max=0"}), "--input x: cannot read 'max=0'");
  EXPECT_EQ(errorOf({"x=zeros:1"}), "--input x: cannot read 'zeros:1'");
  EXPECT_EQ(errorOf({"input_ids=1,2", "attention_mask=ones"}),
            "input 'input_ids': wrong number of values (found 2, expected 4 for i64[1,4])");
  EXPECT_EQ(errorOf({"input_ids=zeros", "attention_mask=ids"}),
            "input 'attention_mask': ids are for integer inputs (found f32)");
  EXPECT_EQ(errorOf({"input_ids=random:range=0..1e30", "attention_mask=ones"}),
            "input 'input_ids': range 0..1e+30 does not fit i64");
  EXPECT_EQ(errorOf({}, "/nonexistent"), "--inputs: no folder '/nonexistent'");
}

TEST(Inputs, FilesOfEveryKind) {
  TempDir dir;
  int64_t ids[] = {1, 2, 3, 4};
  float mask[] = {1, 0, 1, 0};
  TensorSpec idsSpec = {"", DType::I64, {1, 4}}, maskSpec = {"", DType::F32, {1, 4}};
  ASSERT_TRUE(io::writeNpy(dir.path + "/ids.npy", idsSpec, {ids, sizeof ids}).ok());
  ASSERT_TRUE(io::writeNpz(dir.path + "/all.npz",
                           {{"ids", idsSpec, {ids, sizeof ids}}, {"attention_mask", maskSpec, {mask, sizeof mask}}})
                  .ok());
  std::ofstream(dir.path + "/mask.bin", std::ios::binary).write(reinterpret_cast<char *>(mask), sizeof mask);
  std::string at = "=@" + dir.path;
  for (auto inputs : {std::vector<std::string>{"input_ids" + at + "/ids.npy", "attention_mask" + at + "/mask.bin"},
                      {"input_ids" + at + "/all.npz:ids", "attention_mask" + at + "/all.npz"}}) {
    auto arrays = build(inputs);
    ASSERT_TRUE(arrays.ok()) << arrays.status().message();
    EXPECT_EQ((*arrays)[0].as<int64_t>()[2], 3);
    EXPECT_EQ((*arrays)[1].as<float>()[2], 1);
  }
  EXPECT_EQ(errorOf({"input_ids" + at + "/mask.bin", "attention_mask=ones"}),
            dir.path + "/mask.bin: wrong size for raw data (found 16 bytes, expected 32 for i64[1,4])");
  EXPECT_EQ(errorOf({"input_ids" + at + "/all.npz", "attention_mask=ones"}),
            dir.path + "/all.npz: no array 'input_ids'");
  EXPECT_EQ(parseInput("input_ids" + at + "/ids.npy")->shapeFlag(), "input_ids=1x4");
  EXPECT_EQ(parseInput("input_ids=zeros")->shapeFlag(), "");
}

TEST(Inputs, DirectoryOfPbAndNpy) {
  TempDir dir;
  std::filesystem::create_directory(dir.path + "/test_data_set_0");
  // dims 1,4; data_type INT64; name; raw_data
  std::string pb = std::string("\x08\x01\x08\x04\x10\x07") + "\x42\x04some\x4a\x20" + io::raw<int64_t>({5, 6, 7, 8});
  std::ofstream(dir.path + "/test_data_set_0/input_0.pb", std::ios::binary) << pb;
  float mask[] = {1, 0, 1, 0};
  ASSERT_TRUE(
      io::writeNpy(dir.path + "/test_data_set_0/attention_mask.npy", {"", DType::F32, {1, 4}}, {mask, sizeof mask})
          .ok());
  auto arrays = build({}, dir.path);
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_EQ((*arrays)[0].as<int64_t>()[3], 8);
  EXPECT_EQ((*arrays)[1].as<float>()[2], 1);
  arrays = build({"input_ids=ones"}, dir.path); // flags win
  EXPECT_EQ((*arrays)[0].as<int64_t>()[3], 1);
}
