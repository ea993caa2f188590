//===- CApi.cpp - C API of the runtime ------------------------------------===//
#include "gaudi/Runtime.h"
#include "gaudi/gaudi.h"

using namespace gaudi;

static_assert(sizeof(gaudi_tensor) == sizeof(TensorView) &&
                  offsetof(gaudi_tensor, data) == offsetof(TensorView, data) &&
                  offsetof(gaudi_tensor, size_bytes) == offsetof(TensorView, sizeBytes),
              "gaudi_run passes the caller's array on without copying it");
static_assert(GAUDI_BAD_ARTIFACT == int(StatusCode::BadArtifact) && GAUDI_USAGE == int(StatusCode::Usage) &&
              GAUDI_RUNTIME == int(StatusCode::Runtime) && GAUDI_BOOL == int(DType::Bool));

struct gaudi_executable {
  std::shared_ptr<Executable> impl;
};

struct gaudi_context {
  std::unique_ptr<Context> impl;
};

/// Function-local, so that loading the library runs no constructor.
static std::string &lastError() {
  thread_local std::string text;
  return text;
}

static gaudi_status report(const Status &status) {
  if (status.ok())
    return GAUDI_OK;
  lastError() = status.message();
  if (!status.hint().empty())
    lastError() += " (hint: " + status.hint() + ")";
  return static_cast<gaudi_status>(status.code());
}

static gaudi_status describe(const std::vector<TensorSpec> &specs, size_t index, gaudi_tensor_info *out) {
  if (index >= specs.size())
    return report(Status::error(StatusCode::Usage, "tensor index out of range (found " + std::to_string(index) +
                                                       ", expected below " + std::to_string(specs.size()) + ")"));
  const TensorSpec &spec = specs[index];
  *out = {spec.name.c_str(), static_cast<gaudi_dtype>(spec.dtype), spec.shape.size(),
          spec.shape.empty() ? nullptr : spec.shape.data(), spec.sizeBytes()};
  return GAUDI_OK;
}

gaudi_status gaudi_open(const char *path, const gaudi_open_options *options, gaudi_executable **out) {
  *out = nullptr;
  OpenOptions open;
  if (options && options->weights_path)
    open.weightsPath = options->weights_path;
  if (options && options->verify_weights)
    open.verify = VerifyLevel::Full;
  Expected<std::shared_ptr<Executable>> executable = Executable::open(path, open);
  if (executable.ok())
    *out = std::make_unique<gaudi_executable>(gaudi_executable{executable.take()}).release();
  return report(executable.status());
}

void gaudi_close(gaudi_executable *executable) { std::unique_ptr<gaudi_executable> owner(executable); }

size_t gaudi_input_count(const gaudi_executable *executable) { return executable->impl->inputs().size(); }
size_t gaudi_output_count(const gaudi_executable *executable) { return executable->impl->outputs().size(); }

gaudi_status gaudi_input_info(const gaudi_executable *executable, size_t index, gaudi_tensor_info *out) {
  return describe(executable->impl->inputs(), index, out);
}

gaudi_status gaudi_output_info(const gaudi_executable *executable, size_t index, gaudi_tensor_info *out) {
  return describe(executable->impl->outputs(), index, out);
}

const char *gaudi_target(const gaudi_executable *executable) { return executable->impl->target().c_str(); }

gaudi_status gaudi_create_context(gaudi_executable *executable, const gaudi_context_options *options,
                                  gaudi_context **out) {
  *out = nullptr;
  ContextOptions create;
  if (options) {
    create.threads = options->threads;
    create.memoryBudget = options->memory_budget;
    if (options->spin_micros)
      create.spinMicros = options->spin_micros;
  }
  Expected<std::unique_ptr<Context>> context = executable->impl->createContext(create);
  if (context.ok())
    *out = std::make_unique<gaudi_context>(gaudi_context{context.take()}).release();
  return report(context.status());
}

void gaudi_destroy_context(gaudi_context *context) { std::unique_ptr<gaudi_context> owner(context); }

gaudi_status gaudi_run(gaudi_context *context, const gaudi_tensor *inputs, size_t input_count,
                       const gaudi_tensor *outputs, size_t output_count) {
  return report(context->impl->run({reinterpret_cast<const TensorView *>(inputs), input_count},
                                   {reinterpret_cast<const TensorView *>(outputs), output_count}));
}

const char *gaudi_last_error(void) { return lastError().c_str(); }

const char *gaudi_version(void) { return GAUDI_VERSION; }
