//===- BuildId.cpp - identity of this compiler ----------------------------===//
#include "lib/Driver/BuildId.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <elf.h>
#include <link.h>

using namespace gaudi;

namespace {

/// The GNU build-id note among the object's program headers, as hex; "" if there is none.
std::string buildIdOf(const dl_phdr_info &object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = object.dlpi_phdr[i];
    if (header.p_type != PT_NOTE)
      continue;
    const char *at = reinterpret_cast<const char *>(object.dlpi_addr + header.p_vaddr), *end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof(*note), *description = name + ((note->n_namesz + 3) & ~3u);
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
        return llvm::toHex(llvm::StringRef(description, note->n_descsz), /*LowerCase=*/true);
      at = description + ((note->n_descsz + 3) & ~3u);
    }
  }
  return {};
}

} // namespace

std::string driver::compilerIdentity() {
  std::string text = "gaudi 0.1.0";
  dl_iterate_phdr(
      [](dl_phdr_info *object, size_t, void *data) {
        std::string name = object->dlpi_name;
        bool matters = name.empty() || name.find("LLVM") != std::string::npos || name.find("MLIR") != std::string::npos;
        std::string id = matters ? buildIdOf(*object) : "";
        if (!id.empty())
          *static_cast<std::string *>(data) += " " + id.substr(0, 16);
        return 0;
      },
      &text);
  return text;
}
