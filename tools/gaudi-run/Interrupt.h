//===- Interrupt.h - Ctrl-C, SIGTERM and --timeout --------------*- C++ -*-===//
#pragma once

#include <sys/types.h>

namespace gaudi::run {

/// From now on SIGINT and SIGTERM end the process with 130 and 143, and with `timeoutSeconds` > 0 the process ends with
/// 124 after that time; the compiler child is ended too and no half-written file is left.
void installInterrupts(double timeoutSeconds);

/// The child to end with us; 0 = none.
void setChild(pid_t pid);

} // namespace gaudi::run
