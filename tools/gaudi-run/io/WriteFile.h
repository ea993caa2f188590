//===- WriteFile.h - writing a file or nothing ------------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace gaudi::io {

/// Writes the pieces to a temporary file beside `path` and renames it: after an error or an interrupt the old file is
/// still whole. Pipes and devices (/dev/stdout) are written directly. Errors: Runtime.
Status writeFile(const std::string &path, const std::vector<std::string_view> &pieces);

/// The temporary file being written, for a signal handler to unlink; "" when there is none.
const char *pendingTemporary();

} // namespace gaudi::io
