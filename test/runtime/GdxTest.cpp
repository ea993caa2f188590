//===- GdxTest.cpp - good and bad .gdx files ------------------------------===//
//
// Rows 37-40 of knowledge/runtime.md 6.3, and random damage.
//
//===----------------------------------------------------------------------===//
#include "TestArtifact.h"

#include "gaudi/Runtime.h"
#include "runtime/base/CpuFeatures.h"
#include "runtime/exec/Describe.h"
#include "runtime/load/Program.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <random>

using namespace gaudi;
using namespace gaudi::test;

namespace {

using Bytes = std::vector<std::byte>;

class Gdx : public testing::Test {
protected:
  Gdx() : artifact(makeTestArtifact()), path(temporaryPath("t.gdx")) { write(); }

  void write(bool embed = true) {
    Status status = writeArtifact(path, artifact.parts(embed));
    ASSERT_TRUE(status.ok()) << status.message();
    file = readFile(path);
    std::memcpy(&header, file.data(), sizeof header);
  }

  Status openStatus(const OpenOptions &options = {}) { return Executable::open(path, options).takeStatus(); }

  /// Writes `bytes` and expects BadArtifact with `what` in the message.
  void refused(const Bytes &bytes, const std::string &what, VerifyLevel verify = VerifyLevel::Meta) {
    writeFile(path, bytes);
    Status status = openStatus({.verify = verify});
    EXPECT_EQ(status.code(), StatusCode::BadArtifact) << what;
    EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
  }

  gdx::Segment segment(uint32_t index) const {
    gdx::Segment row;
    std::memcpy(&row, file.data() + header.tableOffset + index * sizeof row, sizeof row);
    return row;
  }

  /// A copy of the file with a changed header or segment row, and a root digest that fits.
  Bytes withHeader(const std::function<void(gdx::Header &)> &change) const {
    Bytes bytes = file;
    gdx::Header changed = header;
    change(changed);
    std::memcpy(bytes.data(), &changed, sizeof changed);
    reseal(bytes);
    return bytes;
  }
  Bytes withSegment(uint32_t index, const std::function<void(gdx::Segment &)> &change) const {
    Bytes bytes = file;
    gdx::Segment row = segment(index);
    change(row);
    std::memcpy(bytes.data() + header.tableOffset + index * sizeof row, &row, sizeof row);
    reseal(bytes);
    return bytes;
  }

  TestArtifact artifact;
  std::string path;
  Bytes file;
  gdx::Header header;
};

TEST_F(Gdx, SamePartsSameBytes) {
  Bytes first = file;
  write();
  EXPECT_TRUE(file == first);
}

TEST_F(Gdx, SegmentsAreAlignedAndOrdered) {
  ASSERT_EQ(header.segmentCount, 3u);
  for (uint32_t i = 0; i < 3; ++i)
    EXPECT_EQ(segment(i).offset % 4096, 0u);
  EXPECT_EQ(header.fileSize, file.size());
}

TEST_F(Gdx, EmptyOrForeignFiles) {
  refused({}, "file is empty");
  refused(Bytes(10), "not a .gdx artefact");
  refused(Bytes(5000, std::byte{0xff}), "not a .gdx artefact");
  refused(Bytes(file.begin(), file.begin() + 40), "truncated at byte 40 of 64");
  std::filesystem::remove(path);
  EXPECT_EQ(openStatus().code(), StatusCode::Usage);
  EXPECT_EQ(openStatus().message(), path + ": no such file");
}

TEST_F(Gdx, OtherVersionsNameBothNumbers) {
  refused(withHeader([](gdx::Header &h) { h.major = 2; }), "format 2.0, this runtime reads 1.x");
  refused(withHeader([](gdx::Header &h) { h.magic[3] = 2; }), "format 1.0, this runtime reads 1.x");
  refused(withHeader([](gdx::Header &h) { h.requiredFeatures = 4; }), "container features this runtime does not know");
  writeFile(path, withHeader([](gdx::Header &h) { h.minor = 7; }));
  EXPECT_TRUE(openStatus().ok()) << "a newer minor version without required features must load";
}

TEST_F(Gdx, BadOffsetsAndCounts) {
  constexpr uint64_t most = ~0ull;
  refused(withHeader([](gdx::Header &h) { h.metadataOffset = most; }), "segment table invalid");
  refused(withHeader([](gdx::Header &h) { h.metadataSize = most; }), "limit of 64 MiB");
  refused(withHeader([](gdx::Header &h) { h.tableOffset = most - 8; }), "segment table invalid");
  refused(withHeader([](gdx::Header &h) { h.segmentCount = 1000001; }), "1000001 segments");
  refused(withHeader([](gdx::Header &h) { h.segmentCount = 64; }), "segment table invalid");
  refused(withHeader([](gdx::Header &h) { h.headerSize = 63; }), "header size is 63");
  refused(withHeader([](gdx::Header &h) { h.fileSize = most; }), "truncated at byte");
  refused(withHeader([](gdx::Header &h) { h.fileSize -= 8; }), "segment table invalid");
  refused(withSegment(0, [](gdx::Segment &s) { s.offset = most - 4095; }), "segment 0 leaves the file");
  refused(withSegment(0, [](gdx::Segment &s) { s.storedSize = s.rawSize = most; }), "segment 0 leaves the file");
  refused(withSegment(1, [](gdx::Segment &s) { s.offset += 1; }), "segment 1 is not aligned");
  refused(withSegment(1, [](gdx::Segment &s) { s.compression = 1; }), "segment 1 is compressed");
  refused(withSegment(1, [&](gdx::Segment &s) { s.offset = segment(0).offset; }), "used twice");
  refused(withSegment(1, [](gdx::Segment &s) { s.kind = gdx::SegmentKind::Code; }), "two segments of kind code");
  refused(withSegment(1, [](gdx::Segment &s) { s.rawSize = s.storedSize -= 4; }), "belong to nothing");
  refused(withSegment(2, [](gdx::Segment &s) { s.rawSize = s.storedSize -= 4; }), "segment table invalid");
}

TEST_F(Gdx, FlippedBytesAreNamedBySegment) {
  Bytes bytes = file;
  bytes[segment(0).offset + 100] ^= std::byte{1};
  refused(bytes, "digest mismatch in segment 0 (code); file is corrupt");
  bytes = file;
  bytes[header.metadataOffset + 20] ^= std::byte{1};
  refused(bytes, "digest mismatch in the header, metadata or segment table");
  bytes = file;
  bytes[segment(2).offset + 100] ^= std::byte{1};
  refused(bytes, "digest mismatch in segment 2 (weights)", VerifyLevel::Full);
  EXPECT_TRUE(openStatus().ok()) << "weights are checked only on request";
  bytes = file;
  bytes[64] = std::byte{1}; // padding
  refused(bytes, "belong to nothing");
}

TEST_F(Gdx, RandomDamageNeverPassesAndNeverCrashes) {
  std::mt19937 random(42);
  for (int i = 0; i < 240; ++i) {
    Bytes bytes = file;
    int flips = 1 + static_cast<int>(random() % 3);
    for (int f = 0; f < flips; ++f)
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
    if (bytes == file)
      continue;
    refused(bytes, path, VerifyLevel::Full);
  }
  for (int i = 0; i < 60; ++i) {
    Bytes bytes(file.begin(), file.begin() + static_cast<long>(random() % file.size()));
    refused(bytes, path, VerifyLevel::Full);
  }
}

/// As above, but behind the root digest: the structural checks must hold by themselves. Code is left alone, because
/// a forged artefact that passes them is native code and would be run.
TEST_F(Gdx, RandomMetadataWithAValidDigestNeverCrashes) {
  std::mt19937 random(43);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes = file;
    uint64_t begin = i % 4 ? header.metadataOffset : header.tableOffset;
    uint64_t size = i % 4 ? header.metadataSize : header.segmentCount * sizeof(gdx::Segment);
    for (int f = 0; f < 1 + i % 3; ++f) {
      std::byte &byte = bytes[begin + random() % size];
      byte = random() % 2 ? byte ^ static_cast<std::byte>(1u << random() % 8) : static_cast<std::byte>(random());
    }
    reseal(bytes);
    Expected<gdx::Container> container = gdx::parseContainer(bytes);
    if (!container.ok()) {
      ASSERT_EQ(container.status().code(), StatusCode::BadArtifact) << container.status().message();
      continue;
    }
    Expected<const schema::Program *> program = verifiedProgram(*container);
    accepted += program.ok();
    if (program.ok())
      describe(**program);
    else
      ASSERT_EQ(program.status().code(), StatusCode::BadArtifact) << program.status().message();
  }
  EXPECT_LT(accepted, 3000);
}

TEST_F(Gdx, CacheRecordBehindTheArtefactIsIgnored) {
  Bytes bytes = file;
  bytes.resize(bytes.size() + 256, std::byte{0xab});
  writeFile(path, bytes);
  EXPECT_TRUE(openStatus().ok());
  EXPECT_TRUE(openStatus({.length = file.size()}).ok());
  EXPECT_EQ(openStatus({.length = file.size() - 1}).code(), StatusCode::BadArtifact);
  EXPECT_EQ(openStatus({.length = bytes.size() + 1}).code(), StatusCode::BadArtifact);
}

TEST_F(Gdx, MissingFeaturesNameBothSides) {
  artifact.program.target->features = {"avx512-from-the-future", "sse2"};
  write();
  Status status = openStatus();
  EXPECT_EQ(status.code(), StatusCode::BadArtifact);
  EXPECT_NE(status.message().find("needs avx512-from-the-future; this CPU has "), std::string::npos)
      << status.message();
  EXPECT_NE(status.hint().find("--target-cpu=native"), std::string::npos);
}

TEST_F(Gdx, OtherDevice) {
  artifact.program.target->device = "gaudi3";
  write();
  EXPECT_NE(openStatus().message().find("no device 'gaudi3'"), std::string::npos);
  EXPECT_EQ(openStatus().code(), StatusCode::BadArtifact);
  EXPECT_EQ(openStatus({.device = "gaudi4"}).code(), StatusCode::Usage);
  EXPECT_NE(openStatus({.device = "cpu"}).message().find("compiled for device 'gaudi3', not 'cpu'"), std::string::npos);
}

TEST_F(Gdx, StrippedWeightsComeFromAFile) {
  write(false);
  std::string weights = temporaryPath("t.gdw");
  Status status = openStatus();
  EXPECT_EQ(status.code(), StatusCode::BadArtifact);
  EXPECT_NE(status.message().find("compiled without weights"), std::string::npos);

  ASSERT_TRUE(writeWeights(weights, artifact.program, artifact.sources).ok());
  EXPECT_EQ(readFile(weights).size(), artifact.program.weights_size);
  EXPECT_TRUE(openStatus({.weightsPath = weights}).ok());
  write(false); // bound to the digest now
  EXPECT_TRUE(openStatus({.verify = VerifyLevel::Full, .weightsPath = weights}).ok());

  Bytes packed = readFile(weights);
  packed.resize(packed.size() + 16); // the cache's record
  writeFile(weights, packed);
  EXPECT_TRUE(openStatus({.verify = VerifyLevel::Full, .weightsPath = weights}).ok());
  packed[100] ^= std::byte{1};
  writeFile(weights, packed);
  EXPECT_TRUE(openStatus({.weightsPath = weights}).ok());
  status = openStatus({.verify = VerifyLevel::Full, .weightsPath = weights});
  EXPECT_NE(status.message().find("digest mismatch in the packed weights"), std::string::npos);
  packed.resize(100);
  writeFile(weights, packed);
  status = openStatus({.weightsPath = weights});
  EXPECT_NE(status.message().find("truncated (found 100 bytes, expected 6208)"), std::string::npos) << status.message();
  EXPECT_FALSE(openStatus({.weightsPath = weights + ".none"}).ok());
}

/// What the flatbuffers verifier cannot know.
TEST_F(Gdx, SemanticErrors) {
  struct Case {
    const char *what;
    std::function<void(schema::ProgramT &, schema::EntryT &)> damage;
  };
  using schema::Place;
  auto mutateBuffer = [](schema::EntryT &e, size_t i, schema::Buffer b) { e.buffers[i] = b; };
  const Case cases[] = {
      {"leaves its memory", [&](auto &, auto &e) { mutateBuffer(e, 3, {Place::Slab, 0, 129, 768}); }},
      {"leaves its memory", [&](auto &, auto &e) { mutateBuffer(e, 3, {Place::Slab, 0, ~0ull, 2}); }},
      {"leaves its memory", [&](auto &, auto &e) { mutateBuffer(e, 1, {Place::Weights, 0, 0, ~0ull}); }},
      {"leaves its memory", [&](auto &, auto &e) { mutateBuffer(e, 2, {Place::RoData, 0, 0, 193}); }},
      {"leaves its memory", [&](auto &, auto &e) { mutateBuffer(e, 0, {Place::Input, 0, 0, 513}); }},
      {"unknown place", [&](auto &, auto &e) { mutateBuffer(e, 0, {Place::Input, 2, 0, 0}); }},
      {"unknown place", [&](auto &, auto &e) { mutateBuffer(e, 5, {Place::Output, 1, 0, 0}); }},
      {"unknown place", [&](auto &, auto &e) { mutateBuffer(e, 5, {static_cast<Place>(17), 0, 0, 0}); }},
      {"argument refers to buffer 6 of 6", [](auto &, auto &e) { e.args[0] = 6; }},
      {"launch of kernel 2 of 2", [](auto &, auto &e) { e.launches[0] = {2, 0, 4, 0, 1, 1}; }},
      {"not there", [](auto &, auto &e) { e.launches[0] = {0, 4, 4, 0, 1, 1}; }},
      {"not there", [](auto &, auto &e) { e.launches[0] = {0, ~0u, 4, 0, 1, 1}; }},
      {"not there", [](auto &, auto &e) { e.launches[0] = {0, 0, 4, 2, 1, 1}; }},
      {"in chunks of 0", [](auto &, auto &e) { e.launches[0] = {0, 0, 4, 0, 3, 0}; }},
      {"a launch has grid", [](auto &, auto &e) { e.launches[0] = {0, 0, 4, 0, ~0ull, 1}; }},
      {"more scratch", [](auto &, auto &e) { e.memory->scratch_per_worker = 63; }},
      {"larger than any machine", [](auto &, auto &e) { e.memory->slab = ~0ull; }},
      {"bad shape", [](auto &, auto &e) { e.inputs[0]->shape = {int64_t(1) << 62, 4}; }},
      {"bad shape", [](auto &, auto &e) { e.inputs[0]->shape = {-1}; }},
      {"incomplete", [](auto &, auto &e) { e.inputs[0]->dtype = 13; }},
      {"two inputs are called 'x'", [](auto &, auto &e) { e.inputs[1]->name = "x"; }},
      {"two kernels are called", [](auto &p, auto &) { p.kernels[1]->symbol = "matmul_bias"; }},
      {"no symbol", [](auto &p, auto &) { p.kernels[1]->symbol = ""; }},
      {"incomplete", [](auto &p, auto &) { p.entries.clear(); }},
      {"incomplete", [](auto &p, auto &) { p.target = nullptr; }},
      {"entry point is incomplete", [](auto &, auto &e) { e.memory = nullptr; }},
      {"pack step 0", [](auto &p, auto &) { p.sources.clear(); }},
      {"'missing' is not in the code segment", [](auto &p, auto &) { p.kernels[1]->symbol = "missing"; }},
      {"'memcpy' is not in the code segment", [](auto &p, auto &) { p.kernels[1]->symbol = "memcpy"; }},
  };
  for (const Case &test : cases) {
    artifact = makeTestArtifact();
    Expected<pack::Packer> packer = pack::Packer::create(artifact.program.pack, artifact.sources, 6208);
    ASSERT_TRUE(packer.ok());
    test.damage(artifact.program, *artifact.program.entries[0]);
    ASSERT_TRUE(writeArtifact(path, artifact.parts()).ok()) << test.what;
    Status status = openStatus();
    EXPECT_EQ(status.code(), StatusCode::BadArtifact) << test.what;
    EXPECT_NE(status.message().find(test.what), std::string::npos) << status.message();
  }
}

/// flatbuffers leaves empty lists and names out unless told otherwise, and aligns empty lists to nothing.
TEST_F(Gdx, ScalarsAndEmptyNames) {
  schema::EntryT &entry = *artifact.program.entries[0];
  entry.inputs[1]->shape = {};
  entry.buffers[4] = {schema::Place::Input, 1, 0, 8};
  artifact.program.infos[0]->name = "";
  entry.memory->live_at_peak[0]->name = "";
  for (const char *name : {"i", "id", "ids", "ids4", "ids45"}) { // moves what follows through all alignments
    entry.inputs[1]->name = name;
    write();
    Status status = openStatus();
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST_F(Gdx, NothingToDo) {
  schema::EntryT &entry = *artifact.program.entries[0];
  entry.inputs.clear();
  entry.outputs.clear();
  entry.buffers.clear();
  entry.args.clear();
  entry.launches.clear();
  write();
  Status status = openStatus();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(Gdx, CodeThatIsNoSharedObject) {
  artifact.code.assign(100, 'x');
  write();
  Status status = openStatus();
  EXPECT_EQ(status.code(), StatusCode::BadArtifact);
  EXPECT_NE(status.message().find("loading kernels: "), std::string::npos);
}

TEST_F(Gdx, MetadataAboveTheLimitIsRefusedBeforeFlatbuffersSeesIt) {
  artifact.program.entries[0]->args.resize(20u << 20);
  Status status = writeArtifact(path, artifact.parts());
  EXPECT_EQ(status.code(), StatusCode::ResourceLimit);
  EXPECT_NE(status.message().find("64 MiB"), std::string::npos);
}

TEST_F(Gdx, FailedWriteLeavesTheOldFileAndNoTemporary) {
  artifact.program.pack[0] = {schema::PackKind::Copy, 0, 0, 9, 0, 0, 0, 1, 1, 1, 64, 4};
  EXPECT_EQ(writeArtifact(path, artifact.parts()).code(), StatusCode::InvalidInput);
  EXPECT_TRUE(readFile(path) == file);
  for (const auto &entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
    EXPECT_EQ(entry.path().string().find(path + "."), std::string::npos) << entry.path();
  Status status = writeArtifact("/nonexistent/x.gdx", artifact.parts());
  EXPECT_EQ(status.code(), StatusCode::Failed);
  EXPECT_EQ(status.message(), "/nonexistent/x.gdx: cannot create: No such file or directory");
}

} // namespace
