//===- Session.h - an opened model with its tensors -------------*- C++ -*-===//
#pragma once

#include "gaudi/Runtime.h"
#include "runtime/cache/Json.h"
#include "tools/gaudi-run/Console.h"
#include "tools/gaudi-run/Inputs.h"
#include "tools/gaudi-run/Resolve.h"

namespace gaudi::run {

/// A model ready to run.
struct Session {
  std::string name; ///< file name without folder and suffix
  ResolvedModel origin;
  std::shared_ptr<Executable> executable;
  double openMs = 0;
};

/// Resolves and opens `model`; `inputs` give shapes that the user need not repeat as --shape. Prints the cache line and
/// "bert: cpu avx2, 418.0 MiB weights (mmap), 46.0 MiB slab, ratio 1.00".
Expected<Session> openSession(const std::string &model, const ModelOptions &options, const InputSet &inputs,
                              const Console &console);

/// "cpu avx2, 418.0 MiB weights (mmap), 46.0 MiB slab, ratio 1.00".
std::string describeMemory(const Executable &executable);

/// Output arrays of the signature. Errors: ResourceLimit.
Expected<std::vector<io::Array>> makeOutputs(const std::vector<TensorSpec> &signature);
std::vector<TensorView> viewsOf(const std::vector<io::Array> &arrays);

Expected<std::unique_ptr<Context>> makeContext(const Session &session, const ModelOptions &options);

/// Fields "model", "cache", "key", "compile_ms", "open_ms", "target", "memory" of an open object.
void writeSession(json::Writer &writer, const Session &session);

} // namespace gaudi::run
