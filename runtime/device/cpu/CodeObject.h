//===- CodeObject.h - native code of an artefact ----------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "runtime/base/FileDescriptor.h"
#include "runtime/exec/KernelAbi.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace gaudi {

/// An ELF shared object loaded from memory (memfd + dlopen, so that gdb and perf see its symbols). Unloads on
/// destruction. The bytes must have been verified: loading runs code.
class CodeObject {
public:
  CodeObject() = default;
  CodeObject(CodeObject &&other) noexcept : file(std::move(other.file)), handle(std::exchange(other.handle, nullptr)) {}
  CodeObject &operator=(CodeObject &&other) noexcept {
    std::swap(file, other.file);
    std::swap(handle, other.handle);
    return *this;
  }
  ~CodeObject();

  static Expected<CodeObject> load(std::span<const std::byte> elf);
  /// Null if there is no such symbol.
  KernelFn find(const std::string &symbol) const;

private:
  /// Kept open: dlopen knows libraries by path, and /proc/self/fd/N must not name another file while this one is
  /// loaded.
  FileDescriptor file;
  void *handle = nullptr;
};

} // namespace gaudi
