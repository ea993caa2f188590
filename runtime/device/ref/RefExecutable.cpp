//===- RefExecutable.cpp - the reference evaluator as a device ------------===//
#include "runtime/base/Clock.h"
#include "runtime/base/Text.h"
#include "runtime/device/ref/RefDevice.h"
#include "runtime/device/ref/RefLibrary.h"
#include "runtime/exec/ArtifactExecutable.h"
#include "runtime/exec/IoCheck.h"
#include "runtime/memory/Slab.h"

#include <mutex>

namespace gaudi::ref {

namespace {

class RefExecutable : public ArtifactExecutable, public std::enable_shared_from_this<RefExecutable> {
public:
  RefExecutable(std::unique_ptr<Artifact> artifact, const Api &api)
      : ArtifactExecutable(std::move(artifact)), api(api) {}
  ~RefExecutable() override {
    if (evaluator)
      api.close(evaluator);
  }

  Status loadCode();
  Expected<std::unique_ptr<Context>> createContext(const ContextOptions &options) override;
  Status launch(size_t index, void *const *args);

private:
  const Api &api;
  Program *evaluator = nullptr;
  std::mutex mutex; ///< the evaluator's context is not thread-safe
  std::vector<int64_t> launchKernels;
};

class RefContext : public Context {
public:
  RefContext(std::shared_ptr<RefExecutable> exe, Slab memory)
      : executable(std::move(exe)), slab(std::move(memory)),
        args(executable->entry(), executable->memoryWith(slab.data())) {}

  Status run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) override {
    std::vector<KernelTime> ignored;
    return runProfiled(inputs, outputs, ignored);
  }
  Status runProfiled(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                     std::vector<KernelTime> &times) override {
    GAUDI_TRY(checkIo(executable->inputs(), inputs, executable->outputs(), outputs));
    args.bind(inputs, outputs);
    const auto &launches = *executable->entry().launches();
    for (uint32_t i = 0; i < launches.size(); ++i) {
      uint64_t begin = nowNs();
      GAUDI_TRY(executable->launch(i, args.of(*launches.Get(i))));
      times.push_back({i, begin, nowNs()});
    }
    return {};
  }
  unsigned threads() const override { return 1; }

private:
  std::shared_ptr<RefExecutable> executable;
  Slab slab;
  ArgumentTable args;
};

} // namespace

Status RefExecutable::loadCode() {
  char error[1024] = "";
  const auto *text = reinterpret_cast<const char *>(code().data());
  evaluator = api.open(text, code().size(), error, sizeof error);
  if (!evaluator)
    return Status::error(StatusCode::BadArtifact, cat("loading kernels: ", error), "compile the model again");
  for (const schema::Launch *launch : *entry().launches()) {
    const schema::Kernel &kernel = *program().kernels()->Get(launch->kernel());
    std::vector<uint64_t> sizes;
    for (uint32_t i = 0; i < launch->arg_count(); ++i)
      sizes.push_back(entry().buffers()->Get(entry().args()->Get(launch->arg_begin() + i))->size());
    launchKernels.push_back(api.find(evaluator, kernel.symbol()->c_str(), sizes.data(), sizes.size()));
    if (launchKernels.back() < 0)
      return Status::error(
          StatusCode::BadArtifact,
          cat("kernel '", kernel.symbol()->string_view(), "' with these operands is not in the code segment"),
          "compile the model again");
  }
  return {};
}

Status RefExecutable::launch(size_t index, void *const *args) {
  char error[1024] = "";
  std::lock_guard lock(mutex);
  if (api.launch(evaluator, launchKernels[index], args, error, sizeof error))
    return {};
  return Status::error(StatusCode::Runtime, cat("node '", kernels()[index].name, "': ", error));
}

Expected<std::unique_ptr<Context>> RefExecutable::createContext(const ContextOptions &options) {
  GAUDI_TRY(checkBudget(memory(), memory().slab, 1, 0, options.memoryBudget));
  Expected<Slab> slab = Slab::create(memory().slab);
  if (!slab.ok())
    return slab.takeStatus();
  return std::unique_ptr<Context>(std::make_unique<RefContext>(shared_from_this(), slab.take()));
}

Status probe() { return openLibrary().takeStatus(); }

Expected<std::shared_ptr<Executable>> load(std::unique_ptr<Artifact> artifact) {
  Expected<const Api *> api = openLibrary();
  if (!api.ok())
    return api.takeStatus();
  auto executable = std::make_shared<RefExecutable>(std::move(artifact), **api);
  GAUDI_TRY(executable->loadCode());
  return std::shared_ptr<Executable>(std::move(executable));
}

} // namespace gaudi::ref
