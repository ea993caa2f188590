//===- Isa.cpp - resolution of --target-cpu -------------------------------===//
#include "lib/Target/cpu/Isa.h"

#include "runtime/base/CpuFeatures.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

#include <algorithm>
#include <unistd.h>

using namespace gaudi;
using namespace gaudi::cpu;

namespace {

/// What emitters assume at each level; the first level whose features are all there is taken. Tiles: see
/// lib/Target/cpu/README.md for the measurements behind them.
struct Level {
  const char *name;
  std::vector<std::string> needs;
  unsigned vectorBytes, registers, rows, vectors;
};

const std::vector<Level> &levels() {
  static const std::vector<Level> table = {
      {"avx512", {"avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "bmi2", "f16c", "fma"}, 64, 32, 14, 2},
      {"avx2", {"avx2", "bmi2", "f16c", "fma"}, 32, 16, 6, 2},
      {"sse4", {"sse4.2"}, 16, 16, 4, 2},
  };
  return table;
}

/// The features an artefact records: those that the emitters and LLVM may use and the loader can check.
std::vector<std::string> featuresOf(llvm::StringRef cpu) {
  llvm::SmallVector<llvm::StringRef> named;
  llvm::X86::getFeaturesForCPU(cpu, named, /*NeedPlus=*/false);
  llvm::StringMap<bool> all;
  for (llvm::StringRef f : named) { // the x86-64-vN entries leave implied features out
    all[f] = true;
    llvm::X86::updateImpliedFeatures(f, /*Enabled=*/true, all);
  }
  std::vector<std::string> features;
  // AMX and fp16 arithmetic are left out: nothing here uses them, and they would tie artefacts to fewer machines.
  static const char *const used[] = {"avx",  "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "bmi",
                                     "bmi2", "f16c", "fma",      "popcnt",   "sse4.1",  "sse4.2",   "ssse3"};
  for (const char *f : used)
    if (all.lookup(f))
      features.push_back(f);
  return features;
}

uint64_t cacheBytes(int name, uint64_t fallback) {
  long value = sysconf(name);
  return value > 0 ? static_cast<uint64_t>(value) : fallback;
}

} // namespace

Expected<Isa> cpu::resolveIsa(const std::string &targetCpu) {
  bool native = targetCpu == "native";
  std::string cpu = native ? llvm::sys::getHostCPUName().str() : targetCpu;
  if (llvm::X86::parseArchX86(cpu) == llvm::X86::CK_None)
    return Status::error(
        StatusCode::Usage, "--target-cpu: unknown CPU '" + targetCpu + "'",
        "use native, x86-64-v2, x86-64-v3, x86-64-v4, or an LLVM name such as znver3 or sapphirerapids");
  Isa isa;
  isa.cpu = cpu;
  isa.features = featuresOf(cpu);
  if (native) { // a hypervisor may hide what the model number promises
    std::vector<std::string> host = hostCpuFeatures();
    std::erase_if(isa.features, [&](const std::string &f) { return !std::binary_search(host.begin(), host.end(), f); });
    isa.l1Bytes = cacheBytes(_SC_LEVEL1_DCACHE_SIZE, isa.l1Bytes);
    isa.l2Bytes = cacheBytes(_SC_LEVEL2_CACHE_SIZE, isa.l2Bytes);
    isa.l3Bytes = cacheBytes(_SC_LEVEL3_CACHE_SIZE, isa.l3Bytes);
  }
  for (const Level &level : levels()) {
    if (!missingFeatures(level.needs, isa.features).empty())
      continue;
    isa.name = level.name;
    isa.vectorBytes = level.vectorBytes;
    isa.vectorRegisters = level.registers;
    isa.matmulRows = level.rows;
    isa.matmulVectors = level.vectors;
    return isa;
  }
  return Status::error(StatusCode::Unsupported, "--target-cpu=" + targetCpu + ": needs at least SSE4.2",
                       "x86-64-v2 is the oldest level that can be compiled for");
}

std::string cpu::identityOf(const Isa &isa) {
  std::string text = isa.cpu + "|" + isa.name;
  for (const std::string &feature : isa.features)
    text += "+" + feature;
  for (uint64_t number : {uint64_t(isa.vectorBytes), uint64_t(isa.vectorRegisters), uint64_t(isa.matmulRows),
                          uint64_t(isa.matmulVectors), isa.l1Bytes, isa.l2Bytes, isa.l3Bytes})
    text += "|" + std::to_string(number);
  return text;
}
