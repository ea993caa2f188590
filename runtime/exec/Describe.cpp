//===- Describe.cpp - what users see of a program -------------------------===//
#include "runtime/exec/Describe.h"

#include "runtime/load/Program.h"

namespace gaudi {

static TensorSpec specOf(const schema::TensorInfo &info) {
  TensorSpec spec;
  spec.name = info.name()->str();
  spec.dtype = static_cast<DType>(info.dtype());
  spec.shape.assign(info.shape()->begin(), info.shape()->end());
  return spec;
}

static MemoryReport memoryOf(const schema::Program &program, const schema::MemoryPlan &plan) {
  MemoryReport report;
  report.weights = program.weights_size();
  report.slab = plan.slab();
  report.scratchPerThread = plan.scratch_per_worker();
  report.lowerBound = plan.lower_bound();
  if (plan.live_at_peak())
    for (const schema::LiveBuffer *live : *plan.live_at_peak())
      report.liveAtPeak.push_back({live->name()->str(), live->size()});
  return report;
}

Description describe(const schema::Program &program) {
  const schema::Entry &entry = *program.entries()->Get(0);
  Description result;
  for (const schema::TensorInfo *info : *entry.inputs())
    result.inputs.push_back(specOf(*info));
  for (const schema::TensorInfo *info : *entry.outputs())
    result.outputs.push_back(specOf(*info));
  for (const schema::Launch *launch : *entry.launches()) {
    const schema::LaunchInfo &info = *program.infos()->Get(launch->info());
    const schema::Kernel &kernel = *program.kernels()->Get(launch->kernel());
    result.kernels.push_back({info.name()->str(), kernel.symbol()->str(), info.flops(), info.bytes()});
  }
  result.memory = memoryOf(program, *entry.memory());
  result.target = targetText(program);
  return result;
}

} // namespace gaudi
