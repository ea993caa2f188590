//===- RefAbi.h - contract with the reference evaluator ---------*- C++ -*-===//
//
// The evaluator needs MLIR, which the runtime must not link (DESIGN 11), so it is a library of its own,
// libgaudi_ref.so, that device `ref` opens when asked for, as other devices open their vendor's.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace gaudi::ref {

inline constexpr uint32_t kAbiVersion = 1;

/// A parsed code segment. Not thread-safe.
struct Program;

/// What libgaudi_ref.so exports, as `const gaudi::ref::Api gaudi_ref_api`. Messages are cut to `errorSize`, with a
/// terminating zero.
struct Api {
  uint32_t version; ///< kAbiVersion
  /// Parses and verifies the text (one func.func per kernel). Null with a message on failure.
  Program *(*open)(const char *text, size_t size, char *error, size_t errorSize);
  void (*close)(Program *program);
  /// Index of a kernel, -1 if there is none of that name, or if the sizes of its operands and results in bytes are not
  /// `sizes` (one per launch argument).
  int64_t (*find)(Program *program, const char *symbol, const uint64_t *sizes, size_t count);
  /// Runs a kernel on one pointer per operand and result, row-major, any alignment. False with a message on failure.
  bool (*launch)(Program *program, int64_t kernel, void *const *args, char *error, size_t errorSize);
};

inline constexpr const char *kApiSymbol = "gaudi_ref_api";

} // namespace gaudi::ref
