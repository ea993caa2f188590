//===- NpzTest.cpp - reading and writing .npz -----------------------------===//
#include "tools/gaudi-run/io/Npz.h"
#include "IoSupport.h"

#include <fstream>
#include <zlib.h>

using namespace gaudi;
using namespace gaudi::io;

namespace {
/// One entry of a zip built by hand, with every field open to lies.
struct Part {
  std::string name, data;
  bool deflate = false;
  uint16_t flags = 0, method = 0;
  int64_t unpackedBytes = -1; ///< -1 = the truth
  bool badCrc = false;
};
} // namespace

static void put(std::string &out, uint64_t value, size_t width) { out.append(reinterpret_cast<char *>(&value), width); }

static std::string deflated(const std::string &data) {
  std::string out(compressBound(data.size()) + 64, '\0');
  z_stream s = {};
  deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  s.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
  s.avail_in = static_cast<uInt>(data.size());
  s.next_out = reinterpret_cast<Bytef *>(out.data());
  s.avail_out = static_cast<uInt>(out.size());
  deflate(&s, Z_FINISH);
  out.resize(s.total_out);
  deflateEnd(&s);
  return out;
}

static std::string zipOf(const std::vector<Part> &parts) {
  std::string out, directory;
  for (const Part &part : parts) {
    std::string packed = part.deflate ? deflated(part.data) : part.data, shared;
    uint64_t size = part.unpackedBytes < 0 ? part.data.size() : uint64_t(part.unpackedBytes);
    auto crc = crc32(0, reinterpret_cast<const Bytef *>(part.data.data()), uInt(part.data.size())) ^ part.badCrc;
    put(shared, 20, 2), put(shared, part.flags, 2), put(shared, part.deflate ? 8 : part.method, 2), put(shared, 0, 4);
    put(shared, crc, 4), put(shared, packed.size(), 4), put(shared, size, 4), put(shared, part.name.size(), 2),
        put(shared, 0, 2);
    put(directory, 0x02014b50, 4), put(directory, 20, 2);
    directory += shared;
    put(directory, 0, 8), put(directory, 0, 2), put(directory, out.size(), 4);
    directory += part.name;
    put(out, 0x04034b50, 4);
    out += shared + part.name + packed;
  }
  uint64_t offset = out.size(), size = directory.size();
  out += directory;
  put(out, 0x06054b50, 4), put(out, 0, 4), put(out, parts.size(), 2), put(out, parts.size(), 2);
  put(out, size, 4), put(out, offset, 4), put(out, 0, 2);
  return out;
}

static std::string npy(float value) { return npyHeader({"", DType::F32, {1}}) + raw<float>({value}); }
static std::string errorOf(const std::string &file, Limits limits = {}) {
  return NpzReader::parse(bytesOf(file), "f.npz", limits).status().message();
}

TEST(Npz, ReadsStoredAndDeflated) {
  std::string file = zipOf({{.name = "a.npy", .data = npy(1)}, {.name = "b.npy", .data = npy(2), .deflate = true}});
  auto reader = NpzReader::parse(bytesOf(file), "f.npz");
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(reader->names(), (std::vector<std::string>{"a", "b"}));
  auto a = reader->read("a"), b = reader->read("b.npy");
  ASSERT_TRUE(a.ok() && b.ok()) << a.status().message() << b.status().message();
  EXPECT_EQ(a->as<float>()[0], 1);
  EXPECT_EQ(b->as<float>()[0], 2);
  EXPECT_EQ(reader->read("c").status().message(), "f.npz: no array 'c'");
  EXPECT_EQ(reader->read("c").status().hint(), "arrays: a, b");
}

// knowledge/runtime.md 6.3 row 35.
TEST(Npz, RefusesBombs) {
  std::string bomb =
      zipOf({{.name = "x.npy", .data = std::string(1000, 'a'), .deflate = true, .unpackedBytes = 0xfffffffe}});
  EXPECT_EQ(errorOf(bomb), "f.npz: npz: entry 'x.npy' expands 11 bytes to 3.9 GiB; limit 1100:1");
  EXPECT_EQ(errorOf(zipOf({{.name = "x.npy", .data = std::string(5000, 'a'), .deflate = true}}), {.maxBytes = 1000}),
            "f.npz: npz: entry 'x.npy' expands 23 bytes to 4.8 KiB; limit 1000 bytes");
  // Two directory entries over one local entry.
  std::string one = zipOf({{.name = "x.npy", .data = npy(1)}});
  size_t directory = one.find("PK\1\2"), end = one.find("PK\5\6");
  std::string entry = one.substr(directory, end - directory), twice = one.substr(0, end) + entry,
              tail = one.substr(end);
  tail[8] = tail[10] = 2;
  uint32_t size = uint32_t(2 * entry.size());
  memcpy(tail.data() + 12, &size, 4);
  EXPECT_EQ(errorOf(twice + tail), "f.npz: npz: entry 'x.npy' occurs twice");
}

TEST(Npz, RefusesOverlaps) {
  // The second entry's local header lies inside the first's data.
  std::string inner = zipOf({{.name = "b.npy", .data = npy(2)}});
  inner = inner.substr(0, inner.find("PK\1\2"));
  std::string file = zipOf({{.name = "a.npy", .data = inner}, {.name = "b.npy", .data = npy(2)}});
  size_t second = file.find("PK\1\2", file.find("PK\1\2") + 4);
  uint32_t offset = 30 + 5;
  memcpy(file.data() + second + 42, &offset, 4);
  EXPECT_EQ(errorOf(file), "f.npz: npz: entries 'a.npy' and 'b.npy' overlap");
}

TEST(Npz, RefusesNamesAndFlags) {
  for (const char *name : {"../x.npy", "a/../x.npy", "/x.npy", "..", "a\\x.npy", ""})
    EXPECT_EQ(errorOf(zipOf({{.name = name, .data = npy(1)}})),
              std::string("f.npz: npz: entry '") + name + "' has an unsafe name");
  EXPECT_EQ(errorOf(zipOf({{.name = "x.npy", .data = npy(1)}, {.name = "x.npy", .data = npy(1)}})),
            "f.npz: npz: entry 'x.npy' occurs twice");
  EXPECT_EQ(errorOf(zipOf({{.name = "x.npy", .data = npy(1), .flags = 1}})), "f.npz: npz: entry 'x.npy' is encrypted");
  EXPECT_EQ(errorOf(zipOf({{.name = "x.npy", .data = npy(1), .method = 12}})),
            "f.npz: npz: entry 'x.npy' has compression method 12 (expected stored or deflate)");
}

TEST(Npz, RefusesLies) {
  EXPECT_EQ(errorOf(zipOf({{.name = "x.npy", .data = npy(1), .unpackedBytes = 999}})),
            "f.npz: npz: entry 'x.npy' is stored but has two sizes (found 132 and 999)");
  for (int64_t lie : {131, 133}) {
    std::string file = zipOf({{.name = "x.npy", .data = npy(1), .deflate = true, .unpackedBytes = lie}});
    auto reader = NpzReader::parse(bytesOf(file), "f.npz");
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(reader->read("x").status().message(),
              "f.npz: npz: entry 'x.npy' does not unpack to its " + std::to_string(lie) + " bytes");
  }
  std::string bad = zipOf({{.name = "x.npy", .data = npy(1), .badCrc = true}});
  EXPECT_EQ(NpzReader::parse(bytesOf(bad), "f.npz")->read("x").status().message(),
            "f.npz: npz: entry 'x.npy' has a wrong checksum; file is corrupt");
  std::string renamed = zipOf({{.name = "x.npy", .data = npy(1)}});
  renamed[30] = 'y';
  EXPECT_EQ(errorOf(renamed), "f.npz: npz: entry 'x.npy' has another name in its local header");
  std::string moved = zipOf({{.name = "x.npy", .data = npy(1)}});
  moved[moved.find("PK\1\2") + 42] = 9;
  EXPECT_EQ(errorOf(moved), "f.npz: npz: entry 'x.npy' has no local header at byte 9");
}

TEST(Npz, EveryTruncationIsRefused) {
  std::string file = zipOf({{.name = "a.npy", .data = npy(1)}, {.name = "b.npy", .data = npy(2), .deflate = true}});
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(NpzReader::parse(bytesOf(file.substr(0, size)), "f.npz").ok()) << size;
  EXPECT_EQ(errorOf(""), "f.npz: npz: file is empty");
  EXPECT_EQ(errorOf("not a zip, surely not"), "f.npz: npz: no zip directory at the end");
}

TEST(Npz, WritesWhatItReads) {
  TempDir dir;
  float a[] = {1, 2, 3};
  int64_t b[] = {7};
  std::vector<NamedData> arrays = {{"a", {"", DType::F32, {3}}, {a, sizeof a}},
                                   {"ü/b", {"", DType::I64, {}}, {b, sizeof b}}};
  ASSERT_TRUE(writeNpz(dir.path + "/x.npz", arrays).ok());
  auto reader = NpzReader::open(dir.path + "/x.npz");
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(reader->read("a")->as<float>()[2], 3);
  EXPECT_EQ(reader->read("ü/b")->as<int64_t>()[0], 7);
  NamedData large = {"big", {"", DType::F32, {}}, {a, 5ull << 30}};
  EXPECT_EQ(writeNpz(dir.path + "/y.npz", {large}).message(),
            dir.path + "/y.npz: npz files over 4 GiB are not written");
}
