//===- CodeObject.cpp - native code of an artefact ------------------------===//
#include "runtime/device/cpu/CodeObject.h"

#include "runtime/base/Text.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

namespace gaudi {

static Status systemFailed(const char *what) {
  return Status::error(StatusCode::Runtime, cat("loading kernels: ", what, ": ", std::strerror(errno)));
}

static Status writeAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return systemFailed("memfd");
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

CodeObject::~CodeObject() {
  if (handle)
    dlclose(handle);
}

Expected<CodeObject> CodeObject::load(std::span<const std::byte> elf) {
  FileDescriptor fd(memfd_create("gaudi-kernels", MFD_CLOEXEC));
  if (!fd.valid())
    return systemFailed("memfd");
  GAUDI_TRY(writeAll(fd.get(), elf));
  CodeObject object;
  std::string path = cat("/proc/self/fd/", fd.get());
  object.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object.handle)
    return Status::error(StatusCode::BadArtifact, cat("loading kernels: ", dlerror()), "compile the model again");
  object.file = std::move(fd);
  return object;
}

KernelFn CodeObject::find(const std::string &symbol) const {
  void *address = handle ? dlsym(handle, symbol.c_str()) : nullptr;
  link_map *map = nullptr;
  Dl_info info;
  // dlsym also searches what the object depends on: a "kernel" called like a libc function must not be taken for one.
  if (!address || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !dladdr(address, &info) ||
      std::strcmp(info.dli_fname, map->l_name) != 0)
    return nullptr;
  return reinterpret_cast<KernelFn>(address);
}

} // namespace gaudi
