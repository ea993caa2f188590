//===- PrivateFolder.cpp - files for one other process --------------------===//
#include "tools/gaudi-opt/PrivateFolder.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace gaudi;

static Status failed(const std::string &where, const char *what, int error) {
  return Status::error(StatusCode::Failed, where + ": cannot " + what + ": " + std::strerror(error),
                       "TMPDIR names another folder for temporary files");
}

PrivateFolder::~PrivateFolder() {
  if (path.empty() || kept)
    return;
  for (const std::string &file : files)
    unlink(file.c_str());
  rmdir(path.c_str());
}

void PrivateFolder::keep() {
  kept = true;
  pending.clear();
}

Expected<std::string> PrivateFolder::file(const std::string &name) {
  if (path.empty()) {
    const char *base = getenv("TMPDIR");
    Pending announced;
    std::string made = uniqueName(std::string(base && *base ? base : "/tmp") + "/gaudi-", announced);
    if (mkdir(made.c_str(), 0700) != 0)
      return failed(made, "make this folder", errno);
    path = std::move(made);
    pending.push_back(std::move(announced));
  }
  files.push_back(path + "/" + name);
  pending.emplace_back(files.back());
  return files.back();
}

Expected<std::string> PrivateFolder::link(const std::string &name, const std::string &target) {
  Expected<std::string> at = file(name);
  if (!at.ok())
    return at;
  llvm::SmallString<256> absolute(target); // a link's target is relative to the link
  llvm::sys::fs::make_absolute(absolute);
  if (symlink(absolute.c_str(), at->c_str()) != 0)
    return failed(*at, "link", errno);
  return at;
}
