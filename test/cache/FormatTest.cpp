//===- FormatTest.cpp - damaged entries -----------------------------------===//
#include "TestSupport.h"
#include "runtime/cache/EntryFormat.h"

#include <random>
#include <sys/stat.h>

using namespace gaudi;
using namespace gaudi::cache;

TEST(Format, MetadataRoundTripsAndIsLimited) {
  Metadata in = {.compileMs = 0, .label = "bert", .components = {{"module", keyOf(1), ""}, {"isa", keyOf(2), "avx2"}}};
  Metadata out;
  std::string encoded = encodeMetadata(in);
  ASSERT_TRUE(decodeMetadata(encoded, out));
  ASSERT_EQ(out.components.size(), 2u);
  EXPECT_EQ(out.label, "bert");
  EXPECT_EQ(out.components[1].text, "avx2");
  EXPECT_EQ(out.components[0].digest, keyOf(1));
  for (size_t cut = 1; cut < encoded.size(); ++cut) { // every prefix is refused or a whole, shorter list
    Metadata partial;
    if (decodeMetadata(encoded.substr(0, cut), partial)) {
      EXPECT_LT(partial.components.size(), 2u);
    }
  }
  in.components.assign(100, {"x", keyOf(1), std::string(1000, 't')});
  Metadata limited;
  ASSERT_TRUE(decodeMetadata(encodeMetadata(in), limited));
  EXPECT_EQ(limited.components.size(), 64u);
  EXPECT_LE(encodeMetadata(in).size(), kMaxMetadataBytes);
}

TEST(Format, KeysParse) {
  Key key;
  EXPECT_TRUE(Key::parse(keyOf(5).hex(), key));
  EXPECT_EQ(key, keyOf(5));
  EXPECT_FALSE(Key::parse("12", key));
  EXPECT_FALSE(Key::parse(std::string(64, 'g'), key));
}

/// Flips a bit, cuts, extends, zeroes a block, or swaps in another file's bytes.
static std::string damage(std::string bytes, std::mt19937 &random) {
  size_t at = random() % bytes.size();
  switch (random() % 5) {
  case 0:
    return bytes.substr(0, at);
  case 1:
    return bytes + "x";
  case 2:
    return std::string(bytes.size(), '\0');
  default:
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    return bytes;
  }
}

TEST(Format, TwoHundredDamagedEntriesAreAllCaughtAndQuarantined) {
  TempDir dir;
  std::vector<std::string> messages;
  auto cache = openFor(dir.path, &messages);
  std::mt19937 random(1);
  Metadata metadata = {.compileMs = 3, .label = "model", .components = {{"module", keyOf(1), "text"}}};
  for (uint32_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(put(*cache, i % 5, 2000, metadata));
    std::string path = cache->lookup(Kind::Program, keyOf(i % 5))->path;
    std::string bytes = damage(readFile(path), random);
    std::ofstream(path, std::ios::binary) << bytes;
    ASSERT_FALSE(cache->lookup(Kind::Program, keyOf(i % 5))) << "round " << i;
    ASSERT_FALSE(std::filesystem::exists(path)) << "not moved away, round " << i;
  }
  EXPECT_EQ(messages.size(), 200u);
  EXPECT_EQ(cache->statistics().corrupt, 200);
  EXPECT_LE(countFiles(dir.path + "/v1/q"), 8u);
}

TEST(Format, EachDamageIsNamed) {
  TempDir dir;
  std::vector<std::string> messages;
  auto cache = openFor(dir.path, &messages);
  auto messageAfter = [&](auto change) {
    put(*cache, 1, 2000);
    std::string path = cache->lookup(Kind::Program, keyOf(1))->path, bytes = readFile(path);
    change(bytes);
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_FALSE(cache->lookup(Kind::Program, keyOf(1)));
    return messages.back();
  };
  auto has = [](const std::string &m, const char *what) { return m.find(what) != std::string::npos; };
  EXPECT_TRUE(has(messageAfter([](auto &b) { b.resize(100); }), "file has 100 bytes, an entry at least 256"));
  EXPECT_TRUE(has(messageAfter([](auto &b) { b.resize(1000); }), "no cache record at the end"));
  EXPECT_TRUE(has(messageAfter([](auto &b) { b[5] ^= 1; }), "digest mismatch in the payload"));
  EXPECT_TRUE(has(messageAfter([](auto &b) { b[2000] ^= 1; }), "digest mismatch in the metadata"));
  EXPECT_TRUE(has(messageAfter([](auto &b) { b[b.size() - 200] ^= 1; }), "digest mismatch in the record"));
  EXPECT_TRUE(has(messageAfter([](auto &b) { b[b.size() - 248] ^= 2; }), "record version 3, this program reads 1"));
  EXPECT_TRUE(
      has(messageAfter([](auto &b) { b.insert(0, 1, 'x'); }), "file has 2259 bytes, its record says 2000 + 2 + 256"));
}

TEST(Format, AnotherKeysFileUnderThisNameIsRefused) {
  TempDir dir;
  std::vector<std::string> messages;
  auto cache = openFor(dir.path, &messages);
  put(*cache, 1);
  put(*cache, 2);
  std::string one = cache->lookup(Kind::Program, keyOf(1))->path, two = cache->lookup(Kind::Program, keyOf(2))->path;
  std::filesystem::copy_file(one, two, std::filesystem::copy_options::overwrite_existing);
  EXPECT_FALSE(cache->lookup(Kind::Program, keyOf(2)));
  EXPECT_NE(messages.back().find("holds another key than its name says"), std::string::npos);
}

TEST(Format, FifosAndLinksInPlaceOfAnEntryDoNotHang) {
  TempDir dir;
  auto cache = openFor(dir.path);
  put(*cache, 1);
  std::string path = cache->lookup(Kind::Program, keyOf(1))->path;
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(cache->lookup(Kind::Program, keyOf(1)));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/etc/passwd", path);
  EXPECT_FALSE(cache->lookup(Kind::Program, keyOf(1)));
  EXPECT_TRUE(put(*cache, 1)); // replaces the link
  EXPECT_TRUE(cache->lookup(Kind::Program, keyOf(1)));
}
