//===- ExternalData.cpp - opens the weight files of a model ---------------===//
#include "lib/Onnx/ExternalData.h"
#include "lib/Onnx/Proto.h"
#include "runtime/base/FileDescriptor.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace gaudi {

struct ExternalData::Entries {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

static Status invalid(const std::string &where, const std::string &what, std::string hint = {}) {
  return Status::error(StatusCode::InvalidInput, cat(where, ": ", what), std::move(hint));
}

static bool parseNumber(const std::string &text, uint64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

/// True if the path is absolute or climbs above its start at any point. The kernel would refuse it too, but only after
/// it has found that the components before exist.
static bool leavesFolder(std::string_view location) {
  if (location.starts_with('/'))
    return true;
  int depth = 0;
  for (size_t begin = 0; begin <= location.size();) {
    size_t end = std::min(location.find('/', begin), location.size());
    std::string_view part = location.substr(begin, end - begin);
    if (part == "..")
      --depth;
    else if (!part.empty() && part != ".")
      ++depth;
    if (depth < 0)
      return true;
    begin = end + 1;
  }
  return false;
}

static int openBeneath(const std::string &folder, const std::string &path) {
  FileDescriptor base(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!base.valid())
    return -1;
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK; // opening a FIFO must not hang
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, base.get(), path.c_str(), &how, sizeof how));
}

/// Maps the very file that was checked: its name may lead elsewhere by now.
static Expected<MappedFile> mapDescriptor(const FileDescriptor &fd) {
  return MappedFile::open(cat("/proc/self/fd/", fd.get()));
}

static std::optional<std::string> realPath(const std::string &path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) ? std::optional<std::string>(buffer) : std::nullopt;
}

static Status isALink(const std::string &where, const std::string &location) {
  return invalid(where, cat("external file ", quoted(location), " is a link; use --allow-external-root"),
                 "--allow-external-root=DIR accepts links to files below DIR, e.g. the blobs folder of a hub cache");
}

Status ExternalData::readEntries(const ::onnx::TensorProto &tensor, const std::string &where, Entries &entries) {
  for (const auto &entry : tensor.external_data()) {
    const std::string &key = entry.key(), &value = entry.value();
    uint64_t number = 0;
    if (key == "location") {
      entries.location = value;
    } else if (key == "offset") {
      if (!parseNumber(value, entries.offset))
        return invalid(where, cat("bad external length (offset ", quoted(value), ")"));
    } else if (key == "length") {
      if (!parseNumber(value, number))
        return invalid(where, cat("bad external length (", quoted(value), ")"));
      entries.length = number;
    } else if (key != "checksum") { // ONNX: sha1 of the file, optional; our own digests cover the bytes
      warnings.push_back(cat(where, ": unknown external data key ", quoted(key), " ignored"));
    }
  }
  if (entries.location.empty() || entries.location.find('\0') != std::string::npos)
    return invalid(where, "external data without a location");
  if (leavesFolder(entries.location))
    return invalid(where, cat("external path leaves the model folder (found ", quoted(entries.location), ")"));
  return {};
}

Expected<WeightRef> ExternalData::find(const ::onnx::TensorProto &tensor, const std::string &where, uint64_t sizeBytes,
                                       const std::string &shape) {
  Entries entries;
  GAUDI_TRY(readEntries(tensor, where, entries));
  if (entries.length && *entries.length != sizeBytes)
    return invalid(where,
                   cat("bad external length (found ", *entries.length, " bytes, ", shape, " needs ", sizeBytes, ")"));
  auto file = open(entries.location, where);
  if (!file.ok())
    return file.takeStatus();
  if (!insideRange(entries.offset, sizeBytes, store.fileSizeBytes(*file))) {
    uint64_t end = 0;
    if (!checkedAdd(entries.offset, sizeBytes, end))
      return invalid(where, cat("bad external length (offset ", entries.offset, " + ", sizeBytes, " bytes overflows)"));
    return invalid(where, cat("external file ", quoted(entries.location), ": needs bytes ", entries.offset, "-", end,
                              ", file has ", store.fileSizeBytes(*file)));
  }
  return WeightRef{*file, entries.offset, sizeBytes};
}

Expected<uint32_t> ExternalData::open(const std::string &location, const std::string &where) {
  if (auto known = opened.find(location); known != opened.end())
    return known->second;
  if (folder.empty())
    return invalid(where, "external data are not allowed here");
  bool isLink = false;
  auto file = openInFolder(location, where, isLink);
  if (isLink && !root.empty())
    file = openInRoot(location, where);
  if (!file.ok())
    return file.takeStatus();
  uint32_t number = store.addMapped(file.take(), cat(folder, "/", location));
  opened.emplace(location, number);
  return number;
}

/// `isLink` tells a refusal that --allow-external-root may lift from all others.
Expected<MappedFile> ExternalData::openInFolder(const std::string &location, const std::string &where, bool &isLink) {
  FileDescriptor fd(openBeneath(folder, location));
  if (!fd.valid()) {
    isLink = errno == ELOOP;
    if (isLink)
      return isALink(where, location);
    if (errno == EXDEV)
      return invalid(where, cat("external path leaves the model folder (found ", quoted(location), ")"));
    if (errno == ENOENT)
      return invalid(where, cat("weights file ", quoted(location), " not found in ", folder),
                     "keep the model and its data files in one folder");
    return invalid(where, cat("cannot open external file ", quoted(location), ": ", std::strerror(errno)));
  }
  struct stat info{};
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return invalid(where, cat("external file ", quoted(location), ": not a regular file"));
  // A hard link can bring a file of somebody else into the folder (docs/ExternalDataSecurity.md of ONNX).
  isLink = info.st_nlink > 1;
  if (isLink)
    return isALink(where, location);
  return mapDescriptor(fd);
}

/// Follows links first, then opens the result without following any: a swap in between is refused, not followed.
Expected<MappedFile> ExternalData::openInRoot(const std::string &location, const std::string &where) {
  auto realRoot = realPath(root), realFile = realPath(cat(folder, "/", location));
  if (!realRoot)
    return Status::error(StatusCode::Usage, cat("--allow-external-root: no such folder ", quoted(root)));
  std::string prefix = *realRoot == "/" ? "/" : cat(*realRoot, "/");
  if (!realFile || !realFile->starts_with(prefix))
    return invalid(where, cat("external file ", quoted(location), " leads outside of --allow-external-root"));
  FileDescriptor fd(openBeneath(*realRoot, realFile->substr(prefix.size())));
  struct stat info{};
  if (!fd.valid() || fstat(fd.get(), &info) != 0)
    return invalid(where, cat("cannot open external file ", quoted(location), ": ", std::strerror(errno)));
  if (!S_ISREG(info.st_mode))
    return invalid(where, cat("external file ", quoted(location), ": not a regular file"));
  return mapDescriptor(fd);
}

} // namespace gaudi
