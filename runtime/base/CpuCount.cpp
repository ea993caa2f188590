//===- CpuCount.cpp - how many threads are worth starting -----------------===//
#include "runtime/base/CpuCount.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sched.h>

namespace gaudi {

namespace {
struct CloseFile {
  void operator()(FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;
} // namespace

/// The first CPU in the list of `cpu`'s SMT siblings, or `cpu` itself where sysfs is absent.
static int firstSibling(int cpu) {
  char path[96];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  File file(std::fopen(path, "re"));
  int first = cpu;
  if (!file || std::fscanf(file.get(), "%d", &first) != 1)
    return cpu;
  return first;
}

/// Whole CPUs of the cgroup v2 quota, or `otherwise` without one.
static unsigned quotaCpus(unsigned otherwise) {
  File file(std::fopen("/sys/fs/cgroup/cpu.max", "re"));
  unsigned long quota = 0, period = 0;
  if (!file || std::fscanf(file.get(), "%lu %lu", &quota, &period) != 2 || !period)
    return otherwise; // "max 100000" fails to parse as a number, as it should
  return static_cast<unsigned>(std::max(1ul, (quota + period - 1) / period));
}

unsigned usableCores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return 1;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed))
      CPU_SET(std::clamp(firstSibling(cpu), 0, CPU_SETSIZE - 1), &cores);
  unsigned count = static_cast<unsigned>(std::max(1, CPU_COUNT(&cores)));
  return std::min(count, quotaCpus(count));
}

} // namespace gaudi
