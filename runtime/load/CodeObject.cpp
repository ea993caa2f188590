//===- CodeObject.cpp - native code of an artefact ------------------------===//
#include "runtime/load/CodeObject.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>

using namespace gaudi;

static Status failed(const char *what, const char *why) {
  return Status::error(StatusCode::Runtime, std::string("loading kernels: ") + what + ": " + why);
}

static Status writeAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return failed("memfd", std::strerror(errno));
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
    return failed("memfd", std::strerror(errno));
  GAUDI_TRY(writeAll(fd.get(), elf));
  CodeObject object;
  std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  object.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object.handle)
    return failed("dlopen", dlerror());
  object.file = std::move(fd);
  return object;
}

KernelFn CodeObject::find(const std::string &symbol) const {
  return handle ? reinterpret_cast<KernelFn>(dlsym(handle, symbol.c_str())) : nullptr;
}
