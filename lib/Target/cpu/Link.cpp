//===- Link.cpp - kernel objects -> one ELF shared object -----------------===//
//
// lld takes and gives files by name. Ours have none that anybody could see: each object is a memfd, and the result
// comes out of a pipe, so nothing depends on $TMPDIR and nothing is left behind by an interrupt.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/Link.h"
#include "runtime/base/FileDescriptor.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace gaudi;

namespace {

Status failed(const llvm::Twine &what) { return Status::error(StatusCode::Failed, ("linking kernels: " + what).str()); }
Status systemFailed(const char *what) { return failed(llvm::Twine(what) + ": " + std::strerror(errno)); }

std::string pathOf(const FileDescriptor &fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

Expected<FileDescriptor> inMemory(const std::vector<char> &bytes) {
  FileDescriptor file(memfd_create("gaudi-object", MFD_CLOEXEC));
  if (!file.valid())
    return systemFailed("memfd");
  for (llvm::StringRef rest(bytes.data(), bytes.size()); !rest.empty();) {
    ssize_t n = ::write(file.get(), rest.data(), rest.size());
    if (n < 0 && errno != EINTR)
      return systemFailed("memfd");
    rest = rest.drop_front(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  }
  return file;
}

/// The write end of a pipe, and a thread that collects what comes out of it.
class Collector {
public:
  Status open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return systemFailed("pipe");
    readEnd = FileDescriptor(ends[0]), writeEnd = FileDescriptor(ends[1]);
    thread = std::thread([this] {
      char buffer[1 << 16];
      for (ssize_t n; (n = ::read(readEnd.get(), buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR);)
        bytes.insert(bytes.end(), buffer, buffer + std::max<ssize_t>(n, 0));
    });
    return {};
  }
  std::string path() const { return pathOf(writeEnd); }
  std::vector<char> finish() {
    writeEnd.reset();
    thread.join();
    return std::move(bytes);
  }

private:
  FileDescriptor readEnd, writeEnd;
  std::vector<char> bytes;
  std::thread thread;
};

} // namespace

Expected<std::vector<char>> cpu::linkShared(const std::vector<std::vector<char>> &objects) {
  std::vector<FileDescriptor> files; // not one archive: lld ends the process over a broken one
  for (const std::vector<char> &object : objects) {
    Expected<FileDescriptor> file = inMemory(object);
    if (!file.ok())
      return file.takeStatus();
    files.push_back(file.take());
  }
  static std::mutex mutex; // lld keeps its state in globals
  std::lock_guard lock(mutex);
  Collector output;
  GAUDI_TRY(output.open());
  std::vector<std::string> arguments = {"ld.lld",           "-shared",         "--threads=1", "-z",         "now",
                                        "--hash-style=gnu", "--build-id=none", "-o",          output.path()};
  for (const FileDescriptor &file : files)
    arguments.push_back(pathOf(file));
  std::vector<const char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream text(messages);
  lld::Result result = lld::lldMain(argv, text, text, {{lld::Gnu, &lld::elf::link}});
  std::vector<char> linked = output.finish();
  if (result.retCode)
    return failed(messages);
  return linked;
}
