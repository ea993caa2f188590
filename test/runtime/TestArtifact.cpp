//===- TestArtifact.cpp - a small artefact made without the compiler ------===//
#include "TestArtifact.h"

#include "runtime/base/MappedFile.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace gaudi::test {

static constexpr uint64_t rows = 4, k = 32, n = 48, panel = 16;

static void addTensor(std::vector<std::unique_ptr<schema::TensorInfoT>> &list, const char *name, DType dtype,
                      std::vector<int64_t> shape) {
  auto info = std::make_unique<schema::TensorInfoT>();
  info->name = name;
  info->dtype = static_cast<uint8_t>(dtype);
  info->shape = std::move(shape);
  list.push_back(std::move(info));
}

static void addKernel(schema::ProgramT &program, const char *symbol, uint64_t scratch) {
  auto kernel = std::make_unique<schema::KernelT>();
  kernel->symbol = symbol;
  kernel->scratch = scratch;
  program.kernels.push_back(std::move(kernel));
}

static void addInfo(schema::ProgramT &program, const char *name, double flops) {
  auto info = std::make_unique<schema::LaunchInfoT>();
  info->name = name;
  info->flops = flops;
  program.infos.push_back(std::move(info));
}

static std::unique_ptr<schema::EntryT> makeEntry() {
  using schema::Place;
  auto entry = std::make_unique<schema::EntryT>();
  entry->name = "main";
  addTensor(entry->inputs, "x", DType::F32, {rows, k});
  addTensor(entry->inputs, "ids", DType::I64, {rows});
  addTensor(entry->outputs, "y", DType::F32, {rows, n});
  entry->buffers = {{Place::Input, 0, 0, rows * k * 4}, {Place::Weights, 0, 64, k * n * 4},
                    {Place::RoData, 0, 0, n * 4},       {Place::Slab, 0, 128, rows * n * 4},
                    {Place::Input, 1, 0, rows * 8},     {Place::Output, 0, 0, rows * n * 4}};
  entry->args = {0, 1, 2, 3, 4, 3, 5};
  entry->launches = {{0, 0, 4, 0, n / panel, 1}, {1, 4, 3, 1, rows, 1}};
  entry->memory = std::make_unique<schema::MemoryPlanT>();
  entry->memory->slab = 128 + rows * n * 4;
  entry->memory->lower_bound = rows * n * 4;
  entry->memory->scratch_per_worker = panel * 4;
  auto live = std::make_unique<schema::LiveBufferT>();
  live->name = "h";
  live->size = rows * n * 4;
  entry->memory->live_at_peak.push_back(std::move(live));
  return entry;
}

static void addWeights(TestArtifact &artifact) {
  artifact.weights.resize(k * n);
  for (size_t i = 0; i < artifact.weights.size(); ++i)
    artifact.weights[i] = static_cast<float>(i % 17) - 8;
  artifact.sources = {{DType::F32, std::as_bytes(std::span(artifact.weights))}};
  schema::ProgramT &program = artifact.program;
  program.weights_size = 64 + k * n * 4;
  program.pack = {{schema::PackKind::Panels, 0, 0, 0, panel, 0, n, k, n, n, 64, k * n * 4}};
  auto source = std::make_unique<schema::SourceT>();
  source->name = "W";
  source->shape = {k, n};
  source->length = k * n * 4;
  program.sources.push_back(std::move(source));
  program.source_files = {"model.onnx"};
}

TestArtifact makeTestArtifact() {
  TestArtifact artifact;
  schema::ProgramT &program = artifact.program;
  program.target = std::make_unique<schema::TargetT>();
  program.target->device = "cpu";
  program.target->cpu = "x86-64";
  program.target->features = {"sse2"};
  addKernel(program, "matmul_bias", panel * 4);
  addKernel(program, "gather_rows", 0);
  addInfo(program, "dense", 2 * rows * k * n);
  addInfo(program, "embeddings", 0);
  program.entries.push_back(makeEntry());
  addWeights(artifact);

  std::vector<std::byte> code = readFile(GAUDI_TEST_KERNELS);
  artifact.code.resize(code.size());
  std::memcpy(artifact.code.data(), code.data(), code.size());
  artifact.rodata.resize(n * 4);
  for (size_t i = 0; i < n; ++i) {
    float bias = static_cast<float>(i) / 4;
    std::memcpy(artifact.rodata.data() + 4 * i, &bias, 4);
  }
  return artifact;
}

std::vector<float> expectedOutput(const TestArtifact &artifact, const std::vector<float> &x,
                                  const std::vector<int64_t> &ids) {
  std::vector<float> y(rows * n);
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < n; ++j) {
      float sum = static_cast<float>(j) / 4;
      for (size_t kk = 0; kk < k; ++kk)
        sum += x[static_cast<size_t>(ids[i]) * k + kk] * artifact.weights[kk * n + j];
      y[i * n + j] = sum;
    }
  return y;
}

std::vector<float> testInput() {
  std::vector<float> x(rows * k);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i % 7) - 3;
  return x;
}

namespace {
struct TemporaryFolder {
  std::string path = (std::filesystem::temp_directory_path() / "gaudi-test-XXXXXX").string();
  TemporaryFolder() {
    if (!mkdtemp(path.data()))
      std::abort();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};
} // namespace

std::string temporaryPath(const std::string &name) {
  static const TemporaryFolder folder;
  return folder.path + "/" + name;
}

std::vector<std::byte> readFile(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    std::abort();
  return {file->bytes().begin(), file->bytes().end()};
}

void writeFile(const std::string &path, std::span<const std::byte> bytes) {
  FILE *file = std::fopen(path.c_str(), "wb");
  if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
    std::abort();
  std::fclose(file);
}

} // namespace gaudi::test
