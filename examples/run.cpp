//===- run.cpp - run an artefact from C++ ---------------------------------===//
//
// usage: example_run_cpp MODEL.gdx
// Runs the model once on zeros and prints the beginning of every f32 output.
//
//===----------------------------------------------------------------------===//
#include "gaudi/Runtime.h"

#include <algorithm>
#include <cstdio>

using namespace gaudi;

static int fail(const Status &status) {
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  if (!status.hint().empty())
    std::fprintf(stderr, "hint: %s\n", status.hint().c_str());
  return static_cast<int>(status.code());
}

/// One zeroed buffer per tensor. The views point into the buffers.
static std::vector<std::vector<float>> allocate(const std::vector<TensorSpec> &specs, std::vector<TensorView> &views) {
  std::vector<std::vector<float>> buffers;
  for (const TensorSpec &spec : specs) {
    buffers.emplace_back((spec.sizeBytes() + 15) / 16 * 4); // floats are only room here; the dtype is in the spec
    views.push_back({buffers.back().data(), spec.sizeBytes()});
  }
  return buffers;
}

static void print(const TensorSpec &spec, const std::vector<float> &values) {
  std::printf("%s %s =", spec.name.c_str(), toString(spec).c_str());
  if (spec.dtype == DType::F32)
    for (int64_t i = 0; i < std::min<int64_t>(4, spec.elementCount()); ++i)
      std::printf(" %g", static_cast<double>(values[static_cast<size_t>(i)]));
  std::printf(" ...\n");
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MODEL.gdx\n", argv[0]);
    return 2;
  }
  Expected<std::shared_ptr<Executable>> opened = Executable::open(argv[1], {});
  if (!opened.ok())
    return fail(opened.status());
  std::shared_ptr<Executable> executable = opened.take();
  Expected<std::unique_ptr<Context>> context = executable->createContext({});
  if (!context.ok())
    return fail(context.status());

  std::vector<TensorView> inputs, outputs;
  auto inputData = allocate(executable->inputs(), inputs), outputData = allocate(executable->outputs(), outputs);
  if (Status status = (*context)->run(inputs, outputs); !status.ok())
    return fail(status);
  for (size_t i = 0; i < outputs.size(); ++i)
    print(executable->outputs()[i], outputData[i]);
  return 0;
}
