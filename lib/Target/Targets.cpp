//===- Targets.cpp - the explicit list of targets -------------------------===//
#include "lib/Target/cpu/Target.h"
#include "lib/Target/ref/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace gaudi;

namespace {

struct Row {
  const char *name;
  Expected<std::unique_ptr<Target>> (*create)(const std::string &cpu);
};

constexpr Row rows[] = {
    {"cpu", cpu::createTarget},
    {"ref", [](const std::string &) { return Expected<std::unique_ptr<Target>>(ref::createTarget()); }},
};

} // namespace

std::vector<std::string> gaudi::targetNames() {
  std::vector<std::string> names;
  for (const Row &row : rows)
    names.push_back(row.name);
  return names;
}

Expected<std::unique_ptr<Target>> gaudi::createTarget(const std::string &device, const std::string &cpu) {
  for (const Row &row : rows)
    if (device == row.name)
      return row.create(cpu);
  return Status::error(StatusCode::Usage, "--target: no target '" + device + "'",
                       "targets: " + llvm::join(targetNames(), ", "));
}
