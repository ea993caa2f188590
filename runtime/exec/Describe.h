//===- Describe.h - what users see of a program -----------------*- C++ -*-===//
#pragma once

#include "gaudi/Runtime.h"
#include "runtime/schema/plan_generated.h"

namespace gaudi {

/// Signature, launches and memory of a program's first entry, in the types of the public API.
struct Description {
  std::vector<TensorSpec> inputs, outputs;
  std::vector<KernelInfo> kernels;
  MemoryReport memory;
  std::string target;
};

/// `program` must be verified (runtime/load/Program.h).
Description describe(const schema::Program &program);

} // namespace gaudi
