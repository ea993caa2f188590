//===- Open.cpp - opening a cache folder and deciding whether to trust it -===//
#include "runtime/base/FileIdentity.h"
#include "runtime/base/Text.h"
#include "runtime/cache/CacheImpl.h"

#include <cerrno>
#include <fcntl.h>

namespace gaudi::cache {

Cache::Cache() : impl(std::make_unique<Impl>()) {}
Cache::~Cache() { impl->shards.flush(); }

Mode Cache::mode() const { return impl->options.mode; }
const std::string &Cache::reason() const { return impl->reason; }
const std::string &Cache::path() const { return impl->root; }
bool Cache::hasLocks() const { return impl->locks; }

/// mkdir -p; parents get the usual mode, the cache's own folders 0700.
static int makeDirs(const std::string &path) {
  for (size_t at = 1; (at = path.find('/', at)) != std::string::npos; ++at)
    if (::mkdir(path.substr(0, at).c_str(), 0755) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
      return errno;
  return makeDir(AT_FDCWD, path);
}

/// Entries are native code: whoever can write here can run code as us.
static std::string distrust(int fd, const std::string &path) {
  struct stat info;
  if (::fstat(fd, &info) != 0)
    return cat(path, ": ", describeErrno(errno));
  if (info.st_uid != ::geteuid())
    return cat(path, " belongs to user ", info.st_uid, ", this process runs as ", ::geteuid());
  if (info.st_mode & 022)
    return cat(path, " can be written by ", info.st_mode & 02 ? "everyone" : "its group", "; run: chmod go-w '", path,
               "'");
  return {};
}

static constexpr std::string_view kTag = "Signature: 8a477f597d28d172789f06886806bc55\n"
                                         "# Compile cache of gaudi-opt and gaudi-run. Safe to delete at any time.\n";

/// Makes what is missing; 0 or errno.
static int makeLayout(int dirFd) {
  for (const char *folder : {"e", "k", "w", "t", "l", "q", "s"})
    if (int error = makeDir(dirFd, folder))
      return error;
  FileDescriptor tag = openAt(dirFd, "CACHEDIR.TAG", O_WRONLY | O_CREAT | O_EXCL);
  if (!tag.valid())
    return errno == EEXIST ? 0 : errno;
  return writeAll(tag.get(), kTag);
}

static void disable(Options &options, std::string &reason, std::string why) {
  // Require keeps its meaning: its look-ups miss, and say why.
  if (options.mode != Mode::Require)
    options.mode = Mode::Off;
  reason = std::move(why);
}

std::unique_ptr<Cache> Cache::open(const std::string &directory, Options options) {
  std::unique_ptr<Cache> cache(new Cache);
  Impl &impl = *cache->impl;
  impl.options = std::move(options);
  if (impl.options.mode == Mode::Off)
    return cache;
  auto off = [&](std::string why) {
    impl.dir.reset();
    disable(impl.options, impl.reason, std::move(why));
    return std::move(cache);
  };
  if (directory.empty())
    return off("no cache folder: neither GAUDI_CACHE_DIR, XDG_CACHE_HOME nor HOME is set to an absolute path");

  impl.root = directory + "/v1";
  bool wantsWrite = impl.options.mode != Mode::ReadOnly && impl.options.mode != Mode::Require;
  int makeError = wantsWrite ? makeDirs(directory) : 0;
  FileDescriptor top(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top.valid())
    return off(cat(directory, ": ", describeErrno(makeError ? makeError : errno)));
  if (std::string why = distrust(top.get(), directory); !why.empty())
    return off(std::move(why));

  makeError = wantsWrite ? makeDir(top.get(), "v1") : 0;
  impl.dir = FileDescriptor(::openat(top.get(), "v1", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!impl.dir.valid())
    return off(cat(impl.root, ": ", describeErrno(makeError ? makeError : errno)));
  if (std::string why = distrust(impl.dir.get(), impl.root); !why.empty())
    return off(std::move(why));

  if (wantsWrite) {
    int error = makeLayout(impl.dir.get());
    if (!error && ::faccessat(impl.dir.get(), "t", W_OK, AT_EACCESS) != 0)
      error = errno;
    if (error) {
      impl.options.mode = Mode::ReadOnly;
      impl.reason = cat(impl.root, " cannot be written: ", describeErrno(error));
    }
  }
  impl.locks = !impl.options.assumeNetworkFileSystem && !isOnNetwork(impl.dir.get());
  if (impl.writes()) {
    impl.shards.attach(impl.dir.get());
    impl.sweepTemporaries();
  }
  return cache;
}

} // namespace gaudi::cache
