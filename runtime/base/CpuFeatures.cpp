//===- CpuFeatures.cpp - what this CPU can execute ------------------------===//
#include "runtime/base/CpuFeatures.h"

#include <algorithm>
#include <cstdint>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace gaudi {

#ifdef __x86_64__
namespace {

enum Register : uint8_t { EAX, EBX, ECX, EDX };

/// Register state that the operating system must save (XCR0) before the instructions may be used.
enum class OsState : uint8_t { None, Avx, Avx512, Amx };

struct FeatureRow {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register reg;
  uint8_t bit;
  OsState state = OsState::None;
};

/// Intel SDM vol. 2A, CPUID; names as in LLVM's X86TargetParser.def.
constexpr FeatureRow featureRows[] = {
    {"sse3", 1, 0, ECX, 0},
    {"pclmul", 1, 0, ECX, 1},
    {"ssse3", 1, 0, ECX, 9},
    {"fma", 1, 0, ECX, 12, OsState::Avx},
    {"cx16", 1, 0, ECX, 13},
    {"sse4.1", 1, 0, ECX, 19},
    {"sse4.2", 1, 0, ECX, 20},
    {"movbe", 1, 0, ECX, 22},
    {"popcnt", 1, 0, ECX, 23},
    {"aes", 1, 0, ECX, 25},
    {"avx", 1, 0, ECX, 28, OsState::Avx},
    {"f16c", 1, 0, ECX, 29, OsState::Avx},
    {"cmov", 1, 0, EDX, 15},
    {"mmx", 1, 0, EDX, 23},
    {"fxsr", 1, 0, EDX, 24},
    {"sse", 1, 0, EDX, 25},
    {"sse2", 1, 0, EDX, 26},
    {"bmi", 7, 0, EBX, 3},
    {"avx2", 7, 0, EBX, 5, OsState::Avx},
    {"bmi2", 7, 0, EBX, 8},
    {"avx512f", 7, 0, EBX, 16, OsState::Avx512},
    {"avx512dq", 7, 0, EBX, 17, OsState::Avx512},
    {"adx", 7, 0, EBX, 19},
    {"avx512ifma", 7, 0, EBX, 21, OsState::Avx512},
    {"avx512cd", 7, 0, EBX, 28, OsState::Avx512},
    {"sha", 7, 0, EBX, 29},
    {"avx512bw", 7, 0, EBX, 30, OsState::Avx512},
    {"avx512vl", 7, 0, EBX, 31, OsState::Avx512},
    {"avx512vbmi", 7, 0, ECX, 1, OsState::Avx512},
    {"avx512vbmi2", 7, 0, ECX, 6, OsState::Avx512},
    {"gfni", 7, 0, ECX, 8},
    {"vaes", 7, 0, ECX, 9, OsState::Avx},
    {"vpclmulqdq", 7, 0, ECX, 10, OsState::Avx},
    {"avx512vnni", 7, 0, ECX, 11, OsState::Avx512},
    {"avx512bitalg", 7, 0, ECX, 12, OsState::Avx512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, OsState::Avx512},
    {"avx512vp2intersect", 7, 0, EDX, 8, OsState::Avx512},
    {"amx-bf16", 7, 0, EDX, 22, OsState::Amx},
    {"avx512fp16", 7, 0, EDX, 23, OsState::Avx512},
    {"amx-tile", 7, 0, EDX, 24, OsState::Amx},
    {"amx-int8", 7, 0, EDX, 25, OsState::Amx},
    {"avxvnni", 7, 1, EAX, 4, OsState::Avx},
    {"avx512bf16", 7, 1, EAX, 5, OsState::Avx512},
    {"amx-fp16", 7, 1, EAX, 21, OsState::Amx},
    {"avxifma", 7, 1, EAX, 23, OsState::Avx},
    {"avxvnniint8", 7, 1, EDX, 4, OsState::Avx},
    {"avxneconvert", 7, 1, EDX, 5, OsState::Avx},
    {"avxvnniint16", 7, 1, EDX, 10, OsState::Avx},
    {"lzcnt", 0x80000001, 0, ECX, 5},
    {"sse4a", 0x80000001, 0, ECX, 6},
};

uint64_t readXcr0() {
  uint32_t regs[4];
  if (!__get_cpuid_count(1, 0, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX]) || !(regs[ECX] & (1u << 27)))
    return 0; // no OSXSAVE
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

bool stateEnabled(OsState state, uint64_t xcr0) {
  switch (state) {
  case OsState::None:
    return true;
  case OsState::Avx:
    return (xcr0 & 0x6) == 0x6;
  case OsState::Avx512:
    return (xcr0 & 0xe6) == 0xe6;
  case OsState::Amx:
    return (xcr0 & 0x60000) == 0x60000;
  }
  return false;
}

bool cpuHas(const FeatureRow &row) {
  uint32_t regs[4];
  if (row.subleaf) { // eax of subleaf 0 is the highest valid subleaf; reading past it gives another leaf's bits
    if (!__get_cpuid_count(row.leaf, 0, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX]) || regs[EAX] < row.subleaf)
      return false;
  }
  return __get_cpuid_count(row.leaf, row.subleaf, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX]) &&
         (regs[row.reg] >> row.bit & 1);
}

} // namespace

std::vector<std::string> hostCpuFeatures() {
  std::vector<std::string> features;
  uint64_t xcr0 = readXcr0();
  for (const FeatureRow &row : featureRows)
    if (stateEnabled(row.state, xcr0) && cpuHas(row))
      features.emplace_back(row.name);
  std::sort(features.begin(), features.end());
  return features;
}

bool requestAmxPermission() {
  constexpr int archReqXcompPerm = 0x1023, xtileData = 18; // asm/prctl.h of Linux 5.16
  std::vector<std::string> features = hostCpuFeatures();
  if (!std::binary_search(features.begin(), features.end(), "amx-tile"))
    return true;
  return syscall(SYS_arch_prctl, archReqXcompPerm, xtileData) == 0;
}
#else
std::vector<std::string> hostCpuFeatures() { return {}; }
bool requestAmxPermission() { return true; }
#endif

std::vector<std::string> missingFeatures(std::span<const std::string> needed, std::span<const std::string> available) {
  std::vector<std::string> missing;
  for (const std::string &feature : needed)
    if (!std::binary_search(available.begin(), available.end(), feature))
      missing.push_back(feature);
  return missing;
}

} // namespace gaudi
