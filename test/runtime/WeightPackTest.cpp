//===- WeightPackTest.cpp - packing against a naive reference -------------===//
#include "runtime/load/WeightPack.h"
#include "runtime/base/Clock.h"
#include "runtime/load/Convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

using namespace gaudi;
using namespace gaudi::pack;
using schema::PackKind;
using schema::PackStep;

namespace {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937;

uint8_t raw(DType dtype) { return static_cast<uint8_t>(dtype); }

PackStep makeStep(PackKind kind, DType from, DType to, uint32_t source, uint32_t panel, uint32_t colOffset,
                  uint32_t totalCols, uint64_t rows, uint64_t cols, uint64_t pitch, uint64_t offset) {
  uint64_t columns = kind == PackKind::Copy ? cols : (totalCols + panel - 1) / panel * panel;
  return {kind,      raw(from), raw(to), source, panel,  colOffset,
          totalCols, rows,      cols,    pitch,  offset, rows * columns * sizeOf(to)};
}

Bytes randomFloats(Random &random, size_t count) {
  Bytes bytes(count * 4);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < count; ++i) {
    float value = normal(random);
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  return bytes;
}

/// Element by element from the definition in plan.fbs.
Bytes reference(std::span<const PackStep> steps, std::span<const Source> sources, uint64_t size) {
  Bytes out(size);
  for (const PackStep &step : steps) {
    auto from = static_cast<DType>(step.src_dtype()), to = static_cast<DType>(step.dst_dtype());
    for (uint64_t row = 0; row < step.rows(); ++row)
      for (uint64_t col = 0; col < step.cols(); ++col) {
        uint64_t at = step.kind() == PackKind::PanelsT ? col * step.src_pitch() + row : row * step.src_pitch() + col;
        uint64_t target = row * step.cols() + col;
        if (step.kind() != PackKind::Copy) {
          uint64_t column = step.col_offset() + col;
          target = column / step.panel() * step.rows() * step.panel() + row * step.panel() + column % step.panel();
        }
        findConvert(from, to)(sources[step.source()].bytes.data() + at * sizeOf(from),
                              out.data() + step.dst_offset() + target * sizeOf(to), 1);
      }
  }
  return out;
}

void expectPacked(std::span<const PackStep> steps, const std::vector<Source> &sources, uint64_t size) {
  Expected<Packer> packer = Packer::create(steps, sources, size);
  ASSERT_TRUE(packer.ok()) << packer.status().message();
  Bytes expected = reference(steps, sources, size);
  Bytes direct(size, std::byte{0xcc}), streamed;
  packInto(*packer, direct, 2);
  EXPECT_TRUE(direct == expected);
  size_t largest = 0;
  Status status = packTo(
      *packer,
      [&](std::span<const std::byte> piece) {
        largest = std::max(largest, piece.size());
        streamed.insert(streamed.end(), piece.begin(), piece.end());
        return Status();
      },
      2, 2u << 20);
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(streamed == expected);
  EXPECT_LE(largest, 2u << 20);
}

TEST(WeightPack, RandomStepsEqualTheReference) {
  Random random(1);
  const DType floats[] = {DType::F32, DType::F16, DType::BF16};
  for (int round = 0; round < 300; ++round) {
    uint64_t rows = 1 + random() % 90, cols = 1 + random() % 90, pad = random() % 3;
    auto kind = static_cast<PackKind>(random() % 3);
    uint64_t pitch = (kind == PackKind::PanelsT ? rows : cols) + pad;
    uint64_t outer = kind == PackKind::PanelsT ? cols : rows;
    DType from = floats[random() % 3], to = floats[random() % 3];
    Bytes data = randomFloats(random, outer * pitch + 1);
    // Offset 1: sources in model files have no alignment.
    Source source{from, std::span<const std::byte>(data).subspan(1, outer * pitch * sizeOf(from))};
    uint32_t panel = 1 + random() % 33;
    PackStep step = makeStep(kind, from, to, 0, panel, 0, static_cast<uint32_t>(cols), rows, cols, pitch, 64);
    ASSERT_NO_FATAL_FAILURE(expectPacked({&step, 1}, {source}, 64 + step.dst_size() + 7)) << round;
  }
}

TEST(WeightPack, SeveralSourcesSideBySideWithGaps) {
  Random random(2);
  Bytes q = randomFloats(random, 40 * 32), k = randomFloats(random, 32 * 40), v = randomFloats(random, 40 * 20);
  std::vector<Source> sources{{DType::F32, q}, {DType::F32, k}, {DType::F32, v}};
  PackStep steps[] = {
      makeStep(PackKind::Panels, DType::F32, DType::BF16, 2, 16, 80, 100, 40, 20, 20, 128), // columns 64-79: gap
      makeStep(PackKind::Panels, DType::F32, DType::BF16, 0, 16, 0, 100, 40, 32, 32, 128),
      makeStep(PackKind::PanelsT, DType::F32, DType::BF16, 1, 16, 32, 100, 40, 32, 40, 128),
  };
  expectPacked(steps, sources, 128 + steps[0].dst_size());
}

TEST(WeightPack, UnitsCutLargeTensorsAnywhere) {
  Random random(3);
  uint64_t k = 1000, n = 1200;
  Bytes data = randomFloats(random, k * n);
  for (PackKind kind : {PackKind::Copy, PackKind::Panels, PackKind::PanelsT}) {
    PackStep step = makeStep(kind, DType::F32, DType::F32, 0, 24, 0, static_cast<uint32_t>(n), k, n,
                             kind == PackKind::PanelsT ? k : n, 0);
    expectPacked({&step, 1}, {{DType::F32, data}}, step.dst_size());
  }
}

TEST(WeightPack, OtherElementSizesTranspose) {
  Random random(4);
  Bytes data = randomFloats(random, 50 * 40 * 2);
  for (DType dtype : {DType::I8, DType::I64, DType::F16}) {
    PackStep step = makeStep(PackKind::PanelsT, dtype, dtype, 0, 16, 0, 40, 50, 40, 50, 0);
    expectPacked({&step, 1}, {{dtype, data}}, step.dst_size());
  }
}

TEST(WeightPack, EmptyAndZeroSized) {
  expectPacked({}, {}, 0);
  expectPacked({}, {}, 100);
  PackStep step = makeStep(PackKind::Copy, DType::F32, DType::F32, 0, 0, 0, 0, 0, 5, 5, 0);
  expectPacked({&step, 1}, {{DType::F32, {}}}, 16);
}

TEST(WeightPack, BadStepsAreRefused) {
  Bytes data(4 * 64);
  std::vector<Source> sources{{DType::F32, data}};
  auto refused = [&](PackStep step, const char *what, uint64_t size = 4096) {
    Expected<Packer> packer = Packer::create({&step, 1}, sources, size);
    ASSERT_FALSE(packer.ok()) << what;
    EXPECT_EQ(packer.status().code(), StatusCode::InvalidInput);
    EXPECT_NE(packer.status().message().find(what), std::string::npos) << packer.status().message();
  };
  DType f32 = DType::F32;
  refused(makeStep(PackKind::Copy, f32, f32, 1, 0, 0, 0, 8, 8, 8, 0), "source 1 of 1");
  refused(makeStep(PackKind::Copy, f32, f32, 0, 0, 0, 0, 8, 9, 9, 0), "reads 288 bytes of a source of 256");
  refused(makeStep(PackKind::Copy, f32, f32, 0, 0, 0, 0, 8, 8, 4, 0), "rows overlap");
  refused(makeStep(PackKind::Copy, f32, DType::I8, 0, 0, 0, 0, 8, 8, 8, 0), "no conversion from f32 to i8");
  refused(makeStep(PackKind::Copy, DType::F16, DType::F16, 0, 0, 0, 0, 8, 8, 8, 0), "source has dtype");
  refused(makeStep(PackKind::Copy, f32, f32, 0, 0, 0, 0, 8, 8, 8, 0), "destination [", 255);
  refused(makeStep(PackKind::Panels, f32, f32, 0, 16, 8, 16, 8, 8, 8, 0), "not a multiple of the panel");
  refused(makeStep(PackKind::Panels, f32, f32, 0, 16, 16, 16, 8, 8, 8, 0), "columns [16");
  PackStep noPanel(PackKind::Panels, 0, 0, 0, 0, 0, 8, 8, 8, 8, 0, 256);
  refused(noPanel, "panel width 0");
  PackStep huge(PackKind::Copy, 0, 0, 0, 0, 0, 0, ~0ull, 2, ~0ull, 0, 256);
  refused(huge, "size overflows");
  PackStep kind(static_cast<PackKind>(9), 0, 0, 0, 0, 0, 0, 8, 8, 8, 0, 256);
  refused(kind, "unknown kind");
}

TEST(WeightPack, OverlapIsRefused) {
  Bytes data(4 * 64);
  std::vector<Source> sources{{DType::F32, data}};
  PackStep a = makeStep(PackKind::Copy, DType::F32, DType::F32, 0, 0, 0, 0, 8, 8, 8, 0);
  PackStep b = makeStep(PackKind::Copy, DType::F32, DType::F32, 0, 0, 0, 0, 8, 8, 8, 252);
  PackStep steps[] = {a, b};
  EXPECT_FALSE(Packer::create(steps, sources, 4096).ok());
  PackStep same[] = {makeStep(PackKind::Panels, DType::F32, DType::F32, 0, 16, 0, 32, 8, 8, 8, 0),
                     makeStep(PackKind::Panels, DType::F32, DType::F32, 0, 16, 0, 32, 8, 8, 8, 0)};
  EXPECT_FALSE(Packer::create(same, sources, 4096).ok());
}

TEST(WeightPack, SinkErrorStopsTheStream) {
  Expected<Packer> packer = Packer::create({}, {}, 8u << 20);
  ASSERT_TRUE(packer.ok());
  int calls = 0;
  Status status = packTo(
      *packer, [&](std::span<const std::byte>) { return ++calls, Status::error(StatusCode::ResourceLimit, "full"); }, 1,
      1u << 20);
  EXPECT_EQ(status.message(), "full");
  EXPECT_EQ(calls, 1);
}

TEST(WeightPack, SourcesFromChecksRanges) {
  schema::ProgramT program;
  auto source = std::make_unique<schema::SourceT>();
  source->name = "w";
  source->shape = {4, 4};
  source->offset = 8;
  source->length = 64;
  program.sources.push_back(std::move(source));
  Bytes file(72);
  std::span<const std::byte> files[] = {file};
  Expected<std::vector<Source>> sources = sourcesFrom(program, files);
  ASSERT_TRUE(sources.ok()) << sources.status().message();
  EXPECT_EQ((*sources)[0].bytes.data(), file.data() + 8);
  files[0] = files[0].first(71);
  EXPECT_EQ(sourcesFrom(program, files).status().message(), "weight 'w': needs bytes 8-72, file has 71");
  program.sources[0]->length = 12;
  EXPECT_EQ(sourcesFrom(program, files).status().message(), "weight 'w': has 12 bytes, shape [4,4] f32 needs 64");
  program.sources[0]->shape = {int64_t(1) << 40, int64_t(1) << 40};
  EXPECT_EQ(sourcesFrom(program, files).status().message(), "weight 'w': element count overflows");
}

/// Every half value; and for f32 -> half, the neighbourhood of every rounding border.
TEST(Convert, HalfIsExactBothWays) {
  ConvertFn widen = findConvert(DType::F16, DType::F32), narrow = findConvert(DType::F32, DType::F16);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    uint16_t in = static_cast<uint16_t>(bits), back;
    float batch[9], one; // 9: vector part and tail must agree
    uint16_t halves[9];
    for (uint16_t &half : halves)
      half = in;
    widen(reinterpret_cast<std::byte *>(halves), reinterpret_cast<std::byte *>(batch), 9);
    widen(reinterpret_cast<std::byte *>(&in), reinterpret_cast<std::byte *>(&one), 1);
    ASSERT_EQ(std::bit_cast<uint32_t>(batch[0]), std::bit_cast<uint32_t>(one)) << bits;
    ASSERT_EQ(std::bit_cast<uint32_t>(one), std::bit_cast<uint32_t>(batch[8])) << bits;
    narrow(reinterpret_cast<std::byte *>(&one), reinterpret_cast<std::byte *>(&back), 1);
    if (!std::isnan(one)) {
      ASSERT_EQ(back, in);
      for (int delta : {-1, 0, 1}) { // halfway to the next half, and next to it
        uint32_t border = std::bit_cast<uint32_t>(one) + 0x1000 + static_cast<uint32_t>(delta);
        float values[8];
        for (float &value : values)
          value = std::bit_cast<float>(border);
        uint16_t vector[8], scalar;
        narrow(reinterpret_cast<std::byte *>(values), reinterpret_cast<std::byte *>(vector), 8);
        narrow(reinterpret_cast<std::byte *>(values), reinterpret_cast<std::byte *>(&scalar), 1);
        ASSERT_EQ(vector[0], scalar) << border;
      }
    } else {
      ASSERT_GT(back & 0x7fff, 0x7c00);
    }
  }
}

TEST(Convert, Bf16RoundsToNearestEven) {
  struct Case {
    uint32_t in;
    uint16_t out;
  };
  const Case cases[] = {{0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81},
                        {0x7f7fffff, 0x7f80}, {0x7f800000, 0x7f80}, {0x7f800001, 0x7fc0}, {0x80000000, 0x8000},
                        {0x00000001, 0x0000}, {0xff800000, 0xff80}};
  for (const Case &test : cases) {
    uint16_t out;
    findConvert(DType::F32, DType::BF16)(reinterpret_cast<const std::byte *>(&test.in),
                                         reinterpret_cast<std::byte *>(&out), 1);
    EXPECT_EQ(out, test.out) << std::hex << test.in;
  }
}

TEST(WeightPackSpeed, PanelsPerThread) {
  Random random(5);
  uint64_t k = 3072, n = 768;
  Bytes data = randomFloats(random, k * n);
  struct Case {
    const char *name;
    PackKind kind;
    DType to;
  };
  for (Case test :
       {Case{"copy", PackKind::Copy, DType::F32}, Case{"panels f32", PackKind::Panels, DType::F32},
        Case{"panelsT f32", PackKind::PanelsT, DType::F32}, Case{"panels bf16", PackKind::Panels, DType::BF16},
        Case{"panelsT bf16", PackKind::PanelsT, DType::BF16}, Case{"panelsT f16", PackKind::PanelsT, DType::F16}}) {
    PackStep step = makeStep(test.kind, DType::F32, test.to, 0, 24, 0, static_cast<uint32_t>(n), k, n,
                             test.kind == PackKind::PanelsT ? k : n, 0);
    Expected<Packer> packer = Packer::create({&step, 1}, {{DType::F32, data}}, step.dst_size());
    ASSERT_TRUE(packer.ok());
    Bytes out(step.dst_size());
    uint64_t best = ~0ull;
    for (int i = 0; i < 10; ++i) {
      uint64_t begin = nowNs();
      packInto(*packer, out);
      best = std::min(best, nowNs() - begin);
    }
    std::printf("%-12s %.2f GB/s of source\n", test.name, double(data.size()) / double(best));
  }
}

} // namespace
