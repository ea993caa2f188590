//===- RefLibrary.cpp - opens libgaudi_ref.so -----------------------------===//
#include "runtime/device/ref/RefLibrary.h"

#include "runtime/base/Text.h"

#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

namespace gaudi::ref {

static std::vector<std::string> candidates() {
  if (const char *given = std::getenv("GAUDI_REF_LIBRARY"); given && *given)
    return {given};
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void *>(&openLibrary), &info) || !info.dli_fname)
    return {};
  // dli_fname of a program is argv[0], which may be relative to a folder we have left.
  char self[4096];
  std::string path = info.dli_fname;
  if (path.find(".so") == path.npos)
    if (ssize_t size = ::readlink("/proc/self/exe", self, sizeof self); size > 0)
      path.assign(self, static_cast<size_t>(size));
  std::string folder = path.substr(0, path.rfind('/') + 1);
  return {folder + "libgaudi_ref.so", folder + "../lib/libgaudi_ref.so"};
}

namespace {
struct Opened {
  const Api *api = nullptr;
  std::string reason = "not found";
};
} // namespace

static Opened openOnce() {
  Opened result;
  for (const std::string &path : candidates()) {
    if (::access(path.c_str(), R_OK) != 0)
      continue;
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const auto *api = handle ? static_cast<const Api *>(dlsym(handle, kApiSymbol)) : nullptr;
    if (api && api->version == kAbiVersion) {
      result.api = api;
      return result;
    }
    const char *why = api ? nullptr : dlerror();
    result.reason = api ? cat("is of another version (found ", api->version, ", expected ", kAbiVersion, ")")
                        : cat("cannot be opened: ", why ? why : path);
  }
  return result;
}

Expected<const Api *> openLibrary() {
  static const Opened opened = openOnce();
  if (opened.api)
    return opened.api;
  return Status::error(StatusCode::Unsupported, cat("device 'ref': libgaudi_ref.so ", opened.reason),
                       "it is built beside gaudi-opt; GAUDI_REF_LIBRARY can name its path");
}

} // namespace gaudi::ref
