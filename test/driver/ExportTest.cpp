//===- ExportTest.cpp - rt programs as artefact metadata ------------------===//
#include "DriverTest.h"

#include "gaudi/Tensor.h"
#include "lib/Driver/Export.h"

#include <cstring>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::driver;

namespace {

struct ExportTest : test::DriverTest {
  ExportedProgram exported(const std::string &text) {
    func::FuncOp entry = parse(text);
    Expected<PlannedMemory> memory = planMemory(entry, {});
    EXPECT_TRUE(memory.ok());
    return exportProgram(*module, *memory, whole);
  }
  WholeWeights whole;
  /// A program that launches @k once on each of the constants.
  ExportedProgram constants(std::initializer_list<std::string> values) {
    std::string body;
    int i = 0;
    for (const std::string &value : values) {
      std::string c = "%c" + std::to_string(i), y = "%y" + std::to_string(i), type = value.substr(value.rfind('<'));
      body += "  " + c + " = rt.const " + value + "\n  " + y + " = rt.output " + std::to_string(i) +
              " \"y\" tensor<3xf32> : <12>\n" + "  rt.launch @k grid 1 chunk 1 (" + c + ") -> (" + y +
              ") in_place [array<i64>] flops 0.0 bytes 0.0 : (!rt.buffer" + type + ") -> !rt.buffer<12>\n";
      ++i;
    }
    return exported("rt.kernel @k scratch 0\nfunc.func @main() {\n" + body + "  return\n}\n");
  }
  template <typename T> static std::vector<T> elements(const ExportedProgram &out, size_t buffer) {
    const schema::Buffer &b = out.program.entries[0]->buffers[buffer];
    EXPECT_EQ(b.place(), schema::Place::RoData);
    EXPECT_LE(b.offset() + b.size(), out.rodata.size());
    std::vector<T> values(b.size() / sizeof(T));
    std::memcpy(values.data(), out.rodata.data() + b.offset(), b.size());
    return values;
  }
};

TEST_F(ExportTest, SignatureInIndexOrderWhateverTheOpsOrder) {
  ExportedProgram out = exported(R"mlir(
module attributes {rt.files = ["m.onnx", "w.bin"]} {
rt.kernel @k scratch 64
rt.kernel @l scratch 192
func.func @main() {
  %b = rt.input 1 "b" tensor<5xi64> : <40>
  %a = rt.input 0 "a" tensor<2x3xf16> : <12>
  %z = rt.output 1 "z" tensor<3xi1> : <3>
  %y = rt.output 0 "y" tensor<f32> : <4>
  rt.launch @l grid 5 chunk 2 (%a, %b) -> (%y, %z) in_place [array<i64>, array<i64>] flops 7.0 bytes 9.0
    : (!rt.buffer<12>, !rt.buffer<40>) -> (!rt.buffer<4>, !rt.buffer<3>) loc("node")
  return
}
})mlir");
  const schema::EntryT &entry = *out.program.entries[0];
  EXPECT_EQ(entry.name, "main");
  ASSERT_EQ(entry.inputs.size(), 2u);
  EXPECT_EQ(entry.inputs[0]->name, "a");
  EXPECT_EQ(entry.inputs[0]->dtype, static_cast<uint8_t>(DType::F16));
  EXPECT_EQ(entry.inputs[0]->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(entry.inputs[1]->name, "b");
  ASSERT_EQ(entry.outputs.size(), 2u);
  EXPECT_EQ(entry.outputs[0]->name, "y");
  EXPECT_TRUE(entry.outputs[0]->shape.empty());
  EXPECT_EQ(entry.outputs[1]->dtype, static_cast<uint8_t>(DType::Bool));

  EXPECT_EQ(out.program.source_files, (std::vector<std::string>{"m.onnx", "w.bin"}));
  ASSERT_EQ(out.program.kernels.size(), 2u);
  EXPECT_EQ(out.program.kernels[1]->symbol, "l");
  EXPECT_EQ(entry.memory->scratch_per_worker, 192u) << "the largest";
  ASSERT_EQ(entry.launches.size(), 1u);
  const schema::Launch &launch = entry.launches[0];
  EXPECT_EQ(launch.kernel(), 1u);
  EXPECT_EQ(launch.grid(), 5u);
  EXPECT_EQ(launch.chunk(), 2u);
  EXPECT_EQ(out.program.infos[launch.info()]->name, "node");
  EXPECT_EQ(out.program.infos[launch.info()]->flops, 7);
  EXPECT_EQ(out.program.infos[launch.info()]->bytes, 9);
  // Reads, then writes.
  ASSERT_EQ(launch.arg_count(), 4u);
  auto buffer = [&](int i) { return entry.buffers[entry.args[launch.arg_begin() + i]]; };
  EXPECT_EQ(buffer(0).place(), schema::Place::Input);
  EXPECT_EQ(buffer(0).index(), 0u);
  EXPECT_EQ(buffer(1).index(), 1u);
  EXPECT_EQ(buffer(2).place(), schema::Place::Output);
  EXPECT_EQ(buffer(2).index(), 0u);
  EXPECT_EQ(buffer(3).index(), 1u);
  EXPECT_EQ(buffer(3).size(), 3u);
}

TEST_F(ExportTest, SlabViewsAndReport) {
  ExportedProgram out = exported(R"mlir(
rt.kernel @k scratch 0
func.func @main() {
  %x = rt.input 0 "x" tensor<3xf32> : <12>
  %y = rt.output 0 "y" tensor<3xf32> : <12>
  %a = rt.alloc "a" : <100>
  rt.launch @k grid 1 chunk 1 (%x) -> (%a) in_place [array<i64>] flops 0.0 bytes 0.0 : (!rt.buffer<12>) -> !rt.buffer<100>
  %v = rt.view %a[64] : <100> -> <36>
  %w = rt.view %v[8] : <36> -> <12>
  %p = rt.view %x[4] : <12> -> <8>
  rt.launch @k grid 1 chunk 1 (%w, %a, %w, %p) -> (%y) in_place [array<i64>] flops 0.0 bytes 0.0
    : (!rt.buffer<12>, !rt.buffer<100>, !rt.buffer<12>, !rt.buffer<8>) -> !rt.buffer<12>
  return
})mlir");
  const schema::EntryT &entry = *out.program.entries[0];
  EXPECT_EQ(entry.memory->slab, 128u) << "offsets and sizes are multiples of 64";
  EXPECT_EQ(entry.memory->lower_bound, 128u);
  ASSERT_EQ(entry.memory->live_at_peak.size(), 1u);
  EXPECT_EQ(entry.memory->live_at_peak[0]->name, "a");
  EXPECT_EQ(entry.memory->live_at_peak[0]->size, 100u);
  EXPECT_EQ(entry.args, (std::vector<uint32_t>{0, 1, 2, 1, 2, 3, 4})) << "equal buffers share a row";
  EXPECT_EQ(entry.buffers[1].place(), schema::Place::Slab);
  EXPECT_EQ(entry.buffers[2].offset(), entry.buffers[1].offset() + 72) << "a view of a view";
  EXPECT_EQ(entry.buffers[2].size(), 12u);
  EXPECT_EQ(entry.buffers[3].place(), schema::Place::Input);
  EXPECT_EQ(entry.buffers[3].offset(), 4u);
  EXPECT_EQ(out.program.infos[0]->name, "k") << "the loader insists on a name";
}

TEST_F(ExportTest, DenseConstants) {
  ExportedProgram out =
      constants({"dense<[1.0, 2.0, 3.0]> : tensor<3xf32> : <12>", "dense<7> : tensor<2x2xi16> : <8>",
                 "dense<[true, false, true]> : tensor<3xi1> : <3>", "dense<1.5> : tensor<2xf16> : <4>"});
  EXPECT_EQ(elements<float>(out, 0), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(elements<int16_t>(out, 2), (std::vector<int16_t>{7, 7, 7, 7}));
  EXPECT_EQ(elements<uint8_t>(out, 4), (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(elements<uint16_t>(out, 6), (std::vector<uint16_t>{0x3e00, 0x3e00}));
  for (const schema::Buffer &b : out.program.entries[0]->buffers)
    if (b.place() == schema::Place::RoData)
      EXPECT_EQ(b.offset() % 64, 0u);
  EXPECT_EQ(out.program.rodata_size, out.rodata.size());
  EXPECT_EQ(out.program.weights_size, 0u);
}

TEST_F(ExportTest, EqualConstantsShareTheirBytes) {
  std::string one = "dense<[1.0, 2.0, 3.0]> : tensor<3xf32> : <12>";
  ExportedProgram out = constants({one, one, "dense<[1.0, 2.0, 4.0]> : tensor<3xf32> : <12>"});
  auto offset = [&](size_t i) { return out.program.entries[0]->buffers[2 * i].offset(); };
  EXPECT_EQ(offset(0), offset(1));
  EXPECT_NE(offset(0), offset(2));
  EXPECT_EQ(out.rodata.size(), 64u + 12);
}

TEST_F(ExportTest, PanelsOfDenseConstants) {
  // [2][3], panels of 2 columns: columns 0 and 1, then 2 and a zero, each by rows.
  ExportedProgram out =
      constants({"dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32> panels <2, false, 2, 3> : <32>"});
  EXPECT_EQ(elements<float>(out, 0), (std::vector<float>{1, 2, 4, 5, 3, 0, 6, 0}));
  // The same matrix, stored transposed.
  out = constants({"dense<[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]> : tensor<3x2xf32> panels <2, true, 2, 3> : <32>"});
  EXPECT_EQ(elements<float>(out, 0), (std::vector<float>{1, 2, 4, 5, 3, 0, 6, 0}));
  out = constants({"dense<[[1, 2, 3]]> : tensor<1x3xi8> panels <4, false, 1, 3> : <4>"});
  EXPECT_EQ(elements<int8_t>(out, 0), (std::vector<int8_t>{1, 2, 3, 0}));
}

TEST_F(ExportTest, OneConstantInTwoLayouts) {
  std::string value = "dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>";
  ExportedProgram out = constants(
      {value + " : <24>", value + " panels <2, false, 2, 3> : <32>", value + " panels <3, false, 2, 3> : <24>"});
  EXPECT_EQ(elements<float>(out, 0), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(elements<float>(out, 2), (std::vector<float>{1, 2, 4, 5, 3, 0, 6, 0}));
  EXPECT_EQ(elements<float>(out, 4), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(ExportTest, WithoutElements) {
  ExportedProgram out =
      constants({"dense<> : tensor<0x3xf32> : <0>", "dense<> : tensor<0x3xf32> panels <8, false, 0, 3> : <0>",
                 "dense<> : tensor<2x0xf32> panels <8, false, 2, 0> : <0>"});
  EXPECT_EQ(out.rodata.size(), 0u);
}

TEST_F(ExportTest, WeightsBecomePackSteps) {
  std::string w = "#graph.weight<\"w\", 1, 128, 60> : tensor<3x5xf32>",
              v = "#graph.weight<\"v\", 0, 0, 30> : tensor<5x3xf16>";
  ExportedProgram out = constants(
      {w + " panels <8, false, 3, 5> : <96>", v + " panels <2, true, 3, 5> : <36>", w + " : <60>", w + " : <60>"});
  ASSERT_EQ(out.program.sources.size(), 2u) << "once per tensor, not per use";
  const schema::SourceT &source = *out.program.sources[0];
  EXPECT_EQ(source.name, "w");
  EXPECT_EQ(source.file, 1u);
  EXPECT_EQ(source.offset, 128u);
  EXPECT_EQ(source.length, 60u);
  EXPECT_EQ(source.shape, (std::vector<int64_t>{3, 5}));
  ASSERT_EQ(out.program.pack.size(), 3u) << "equal constants share";

  const schema::PackStep &panels = out.program.pack[0], &transposed = out.program.pack[1], &copy = out.program.pack[2];
  EXPECT_EQ(panels.kind(), schema::PackKind::Panels);
  EXPECT_EQ(panels.panel(), 8u);
  EXPECT_EQ(panels.total_cols(), 8u);
  EXPECT_EQ(panels.rows(), 3u);
  EXPECT_EQ(panels.cols(), 5u);
  EXPECT_EQ(panels.src_pitch(), 5u);
  EXPECT_EQ(panels.dst_size(), 96u);
  EXPECT_EQ(transposed.kind(), schema::PackKind::PanelsT);
  EXPECT_EQ(transposed.total_cols(), 6u);
  EXPECT_EQ(transposed.src_pitch(), 3u);
  EXPECT_EQ(transposed.src_dtype(), static_cast<uint8_t>(DType::F16));
  EXPECT_EQ(copy.kind(), schema::PackKind::Copy);
  EXPECT_EQ(copy.rows(), 1u);
  EXPECT_EQ(copy.cols(), 15u);
  for (const schema::PackStep &step : out.program.pack)
    EXPECT_EQ(step.dst_offset() % 64, 0u);
  EXPECT_EQ(out.program.weights_size, copy.dst_offset() + copy.dst_size());
  const auto &buffers = out.program.entries[0]->buffers;
  EXPECT_EQ(buffers[0].place(), schema::Place::Weights);
  EXPECT_EQ(buffers[0].offset(), panels.dst_offset());
  EXPECT_EQ(buffers[4].offset(), buffers[6].offset());
  EXPECT_TRUE(out.program.weights_digest.empty()) << "the writer's";
}

TEST_F(ExportTest, SlicesOfSmallWeightsAreViewsOfTheWhole) {
  auto bytes = [](const std::string &name, uint64_t offset, uint64_t count) {
    return "#graph.weight<\"" + name + "\", 1, " + std::to_string(offset) + ", " + std::to_string(4 * count) +
           "> : tensor<" + std::to_string(count) + "xf32>";
  };
  parse("func.func @main() {\n  %a = graph.constant " + bytes("positions", 1000, 512) + "\n  %b = graph.constant " +
        bytes("table", 4000, 5 << 20) + "\n  return\n}\n");
  whole = wholeWeights(*module);
  auto with = [&](uint64_t count) {
    return constants({bytes("positions", 1000, count) + " : <" + std::to_string(4 * count) + ">", // from the start
                      bytes("positions", 1128, 8) + " : <32>",                                    // aligned inside
                      bytes("positions", 1004, 8) + " : <32>",                                    // not aligned
                      bytes("table", 4000, 8) + " : <32>",                                        // a row of much
                      bytes("other", 1000, 8) + " : <32>"});
  };
  ExportedProgram out = with(16);
  const auto &buffers = out.program.entries[0]->buffers;
  ASSERT_EQ(out.program.pack.size(), 4u);
  EXPECT_EQ(out.program.pack[0].dst_size(), 2048u) << "all of it";
  EXPECT_EQ(buffers[0].offset(), 0u);
  EXPECT_EQ(buffers[0].size(), 64u);
  EXPECT_EQ(buffers[2].offset(), 128u) << "a view of the same";
  EXPECT_EQ(out.program.pack[1].dst_size(), 32u);
  EXPECT_EQ(buffers[4].offset(), 2048u);
  EXPECT_EQ(out.program.pack[2].dst_size(), 32u);
  EXPECT_EQ(out.program.pack[3].dst_size(), 32u);
  // Another sequence length packs alike.
  ExportedProgram longer = with(128);
  EXPECT_EQ(longer.program.weights_size, out.program.weights_size);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(std::memcmp(&longer.program.pack[i], &out.program.pack[i], sizeof out.program.pack[i]), 0) << i;
}

} // namespace
