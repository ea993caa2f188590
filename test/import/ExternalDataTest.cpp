//===- ExternalDataTest.cpp - weight files of untrusted models ------------===//
#include "test/import/ModelBuilder.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace gaudi;
using namespace gaudi::test;
namespace fs = std::filesystem;

namespace {

class ExternalDataTest : public testing::Test {
protected:
  void SetUp() override {
    base = fs::temp_directory_path() / ("gaudi-external-" + std::to_string(getpid()));
    fs::create_directories(base / "model" / "sub");
    fs::create_directories(base / "blobs");
    std::ofstream(base / "model" / "w.bin") << std::string(64, 'w');
    std::ofstream(base / "blobs" / "w.bin") << std::string(64, 'b');
  }
  void TearDown() override { fs::remove_all(base); }

  Parsed parseWith(const std::string &location, std::vector<std::pair<std::string, std::string>> more = {}) {
    auto model = emptyModel();
    auto *tensor = addTensor(model, "w", {4, 4});
    tensor->set_data_location(::onnx::TensorProto::EXTERNAL);
    more.insert(more.begin(), {"location", location});
    for (const auto &[key, value] : more) {
      auto *entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return parse(model, (base / "model").string(), options);
  }
  std::string error(const std::string &location, std::vector<std::pair<std::string, std::string>> more = {}) {
    return errorOf(parseWith(location, std::move(more)));
  }

  fs::path base;
  ReadOptions options;
};

} // namespace

TEST_F(ExternalDataTest, ReadsBytes) {
  auto parsed = parseWith("w.bin", {{"offset", "0"}, {"length", "64"}, {"checksum", "x"}});
  ASSERT_EQ(errorOf(parsed), "ok");
  const auto &literal = parsed.model->literal(parsed.model->proto().graph().initializer(0));
  EXPECT_EQ(literal.bytes.size(), 64u);
  EXPECT_EQ(literal.bytes[0], std::byte{'w'});
  EXPECT_TRUE(parsed.model->weights().isMapped(literal.ref->file));
  EXPECT_TRUE(parsed.model->warnings().empty());
}

TEST_F(ExternalDataTest, UnknownKeyWarns) {
  auto parsed = parseWith("w.bin", {{"__class__", "x"}});
  ASSERT_EQ(errorOf(parsed), "ok");
  ASSERT_EQ(parsed.model->warnings().size(), 1u);
  EXPECT_EQ(parsed.model->warnings()[0], "'w': unknown external data key '__class__' ignored");
}

TEST_F(ExternalDataTest, PathsStayInside) {
  for (const char *path : {"../../etc/passwd", "a/../../x", "/etc/passwd", "sub/../../blobs/w.bin"})
    EXPECT_EQ(error(path), std::string("'w': external path leaves the model folder (found '") + path + "')");
  EXPECT_EQ(error("sub/../w.bin"), "ok");
  EXPECT_EQ(error("missing.bin"), "'w': weights file 'missing.bin' not found in " + (base / "model").string());
  EXPECT_EQ(error(std::string("w.bin\0x", 7)), "'w': external data without a location");
}

TEST_F(ExternalDataTest, LinksNeedPermission) {
  fs::create_symlink("../blobs/w.bin", base / "model" / "soft.bin");
  fs::create_directory_symlink("../blobs", base / "model" / "dir");
  fs::create_hard_link(base / "blobs" / "w.bin", base / "model" / "hard.bin");
  for (std::string path : {"soft.bin", "dir/w.bin", "hard.bin"}) {
    options.externalRoot.clear();
    EXPECT_EQ(error(path), "'w': external file '" + path + "' is a link; use --allow-external-root");
    options.externalRoot = path == "hard.bin" ? base.string() : (base / "blobs").string();
    EXPECT_EQ(error(path), "ok");
    options.externalRoot = (base / "model" / "sub").string();
    EXPECT_EQ(error(path), "'w': external file '" + path + "' leads outside of --allow-external-root");
  }
}

TEST_F(ExternalDataTest, OnlyRegularFiles) {
  ASSERT_EQ(mkfifo((base / "model" / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(error("fifo"), "'w': external file 'fifo': not a regular file");
  EXPECT_EQ(error("sub"), "'w': external file 'sub': not a regular file");
}

TEST_F(ExternalDataTest, Ranges) {
  EXPECT_EQ(error("w.bin", {{"offset", "32"}}), "'w': external file 'w.bin': needs bytes 32-96, file has 64");
  EXPECT_EQ(error("w.bin", {{"offset", "18446744073709551600"}}),
            "'w': bad external length (offset 18446744073709551600 + 64 bytes overflows)");
  EXPECT_EQ(error("w.bin", {{"length", "1000000000000000000"}}),
            "'w': bad external length (found 1000000000000000000 bytes, shape [4,4] f32 needs 64)");
  EXPECT_EQ(error("w.bin", {{"offset", "-1"}}), "'w': bad external length (offset '-1')");
  EXPECT_EQ(error("w.bin", {{"length", "abc"}}), "'w': bad external length ('abc')");
}
