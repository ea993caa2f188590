//===- Target.cpp - the x86-64 target -------------------------------------===//
#include "lib/Target/cpu/Target.h"

#include "lib/Target/cpu/Isa.h"
#include "lib/Target/cpu/KernelBuild.h"
#include "lib/Transforms/Pipelines.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace gaudi;

namespace {

class CpuTarget : public Target {
public:
  explicit CpuTarget(cpu::Isa isa) : isa(std::move(isa)) {}

  TargetInfo info() const override { return {"cpu", "x86_64-unknown-linux-gnu", isa.cpu, isa.features}; }
  void buildPipeline(OpPassManager &pm) const override {
    transforms::buildFusionPipeline(pm, transforms::GraphPipelineOptions());
  }
  LogicalResult claimGroups(func::FuncOp main, unsigned threads) const override {
    return cpu::splitUnclaimedGroups(main, isa, threads);
  }
  Expected<BuildResult> build(func::FuncOp main, const BuildOptions &options) const override {
    return cpu::buildKernels(main, isa, options);
  }

private:
  cpu::Isa isa;
};

} // namespace

Expected<std::unique_ptr<Target>> cpu::createTarget(const std::string &cpu) {
  Expected<Isa> isa = resolveIsa(cpu);
  if (!isa.ok())
    return isa.takeStatus();
  return std::unique_ptr<Target>(std::make_unique<CpuTarget>(isa.take()));
}
