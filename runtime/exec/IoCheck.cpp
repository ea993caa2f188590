//===- IoCheck.cpp - do the caller's tensors fit the signature? -----------===//
#include "runtime/exec/IoCheck.h"

#include "runtime/base/Text.h"

namespace gaudi {

static Status usage(std::string what) { return Status::error(StatusCode::Usage, std::move(what)); }

static Status checkView(const char *what, const TensorSpec &spec, const TensorView &view) {
  if (view.sizeBytes != spec.sizeBytes())
    return usage(cat(what, " '", spec.name, "': got ", view.sizeBytes, " bytes, need ", toString(spec), " (",
                     spec.sizeBytes(), " bytes)"));
  if (!view.data && view.sizeBytes)
    return usage(cat(what, " '", spec.name, "': data is null"));
  // Kernels load elements with instructions that may assume this (KernelAbi.h).
  if (reinterpret_cast<uintptr_t>(view.data) % sizeOf(spec.dtype))
    return usage(cat(what, " '", spec.name, "': data is not aligned to its ", sizeOf(spec.dtype), "-byte elements"));
  return {};
}

static Status checkAll(const char *what, const std::vector<TensorSpec> &specs, std::span<const TensorView> views) {
  if (views.size() != specs.size())
    return usage(cat("wrong number of ", what, "s (found ", views.size(), ", expected ", specs.size(), ")"));
  for (size_t i = 0; i < views.size(); ++i)
    GAUDI_TRY(checkView(what, specs[i], views[i]));
  return {};
}

static bool overlap(const TensorView &a, const TensorView &b) {
  auto beginA = reinterpret_cast<uintptr_t>(a.data), beginB = reinterpret_cast<uintptr_t>(b.data);
  return a.sizeBytes && b.sizeBytes && beginA < beginB + b.sizeBytes && beginB < beginA + a.sizeBytes;
}

Status checkIo(const std::vector<TensorSpec> &inputSpecs, std::span<const TensorView> inputs,
               const std::vector<TensorSpec> &outputSpecs, std::span<const TensorView> outputs) {
  GAUDI_TRY(checkAll("input", inputSpecs, inputs));
  GAUDI_TRY(checkAll("output", outputSpecs, outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t j = 0; j < inputs.size(); ++j)
      if (overlap(outputs[i], inputs[j]))
        return usage(cat("output '", outputSpecs[i].name, "': overlaps input '", inputSpecs[j].name, "'"));
    for (size_t j = 0; j < i; ++j)
      if (overlap(outputs[i], outputs[j]))
        return usage(cat("output '", outputSpecs[i].name, "': overlaps output '", outputSpecs[j].name, "'"));
  }
  return {};
}

} // namespace gaudi
