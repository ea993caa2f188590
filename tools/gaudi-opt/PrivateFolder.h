//===- PrivateFolder.h - files for one other process ------------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "runtime/base/Pending.h"

#include <string>
#include <vector>

namespace gaudi {

/// A folder in $TMPDIR that only this user can read, made on first use, and removed with its files unless kept,
/// also by an interrupt.
class PrivateFolder {
public:
  PrivateFolder() = default;
  PrivateFolder(const PrivateFolder &) = delete;
  ~PrivateFolder();

  /// Where to write file `name`. Errors: Failed (no folder can be made).
  Expected<std::string> file(const std::string &name);
  /// `name` as a link to a file elsewhere, so that whoever deletes it does not delete that. Errors: Failed.
  Expected<std::string> link(const std::string &name, const std::string &target);
  /// Its files are somebody else's to delete.
  void keep();

private:
  std::string path;
  std::vector<std::string> files;
  std::vector<Pending> pending; ///< those and the folder
  bool kept = false;
};

} // namespace gaudi
