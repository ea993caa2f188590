//===- Link.cpp - kernel objects -> one ELF shared object -----------------===//
#include "lib/Target/cpu/Link.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace gaudi;

namespace {

/// A private folder that vanishes with its contents.
struct ScratchFolder {
  llvm::SmallString<128> path;
  std::error_code create() { return llvm::sys::fs::createUniqueDirectory("gaudi-link", path); }
  std::string file(const llvm::Twine &name) const {
    llvm::SmallString<128> full(path);
    llvm::sys::path::append(full, name);
    return std::string(full);
  }
  ~ScratchFolder() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }
};

Status failed(const llvm::Twine &what) {
  return Status::error(StatusCode::Failed, ("linking kernels: " + what).str(),
                       "check that $TMPDIR is writable and not full");
}

Status writeFile(const std::string &path, const std::vector<char> &bytes) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (error)
    return failed(path + ": " + error.message());
  out.write(bytes.data(), bytes.size());
  out.close();
  return out.has_error() ? failed(path + ": " + out.error().message()) : Status();
}

} // namespace

Expected<std::vector<char>> cpu::linkShared(const std::vector<std::vector<char>> &objects) {
  ScratchFolder folder;
  if (std::error_code error = folder.create())
    return failed(error.message());
  std::string output = folder.file("kernels.so");
  std::vector<std::string> arguments = {"ld.lld",           "-shared",         "--threads=1", "-z",  "now",
                                        "--hash-style=gnu", "--build-id=none", "-o",          output};
  for (size_t i = 0; i < objects.size(); ++i) {
    arguments.push_back(folder.file("k" + llvm::Twine(i) + ".o"));
    GAUDI_TRY(writeFile(arguments.back(), objects[i]));
  }
  std::vector<const char *> argv;
  for (const std::string &a : arguments)
    argv.push_back(a.c_str());

  static std::mutex mutex; // lld keeps its state in globals
  std::lock_guard lock(mutex);
  std::string messages;
  llvm::raw_string_ostream text(messages);
  lld::Result result = lld::lldMain(argv, text, text, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode)
    return failed(messages);
  auto linked = llvm::MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!linked)
    return failed(linked.getError().message());
  return std::vector<char>((*linked)->getBufferStart(), (*linked)->getBufferEnd());
}
