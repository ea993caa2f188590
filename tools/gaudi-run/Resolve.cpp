//===- Resolve.cpp - from a model to an artefact --------------------------===//
#include "tools/gaudi-run/Resolve.h"
#include "runtime/base/FileDescriptor.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/Interrupt.h"
#include "tools/gaudi-run/Words.h"

#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace gaudi::run {

/// Errors for what is no file; otherwise whether it starts with the artefact's magic.
static Expected<bool> isArtifact(const std::string &path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0)
    return Status::error(StatusCode::Usage, cat(path, ": cannot open: ", ::strerrordesc_np(errno)));
  if (!S_ISREG(info.st_mode))
    return Status::error(StatusCode::InvalidInput, cat(path, ": not a regular file"));
  char magic[3] = {};
  return ::read(fd.get(), magic, sizeof magic) == sizeof magic && std::memcmp(magic, "GDX", 3) == 0;
}

/// $GAUDI_OPT, or gaudi-opt in our own folder; never by PATH, which could be another version's.
static Expected<std::string> findCompiler() {
  std::string path;
  if (const char *given = std::getenv("GAUDI_OPT"); given && *given) {
    path = given;
  } else {
    char self[PATH_MAX];
    ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
    std::string_view whole(self, size > 0 ? static_cast<size_t>(size) : 0);
    path = cat(whole.substr(0, whole.rfind('/') + 1), "gaudi-opt");
  }
  if (::access(path.c_str(), X_OK) == 0)
    return path;
  return Status::error(StatusCode::Unsupported, cat(path, ": no compiler there, and the model is not a .gdx"),
                       "compile it with gaudi-opt elsewhere, or set GAUDI_OPT to its path");
}

std::vector<std::string> compilerArguments(const std::string &compiler, const std::string &model,
                                           const ModelOptions &options, const std::vector<std::string> &shapes) {
  std::vector<std::string> args = {compiler, model, "--resolve", "--cache=" + options.cacheMode};
  auto add = [&](const char *flag, const std::string &value) {
    if (!value.empty())
      args.push_back(cat(flag, "=", value));
  };
  add("--cache-dir", options.cacheDir);
  add("--cache-max-size", options.cacheMaxSize);
  for (const std::string &shape : options.shapes)
    add("--shape", shape);
  for (const std::string &shape : shapes) {
    std::string name = shape.substr(0, shape.find('=') + 1);
    bool given = false;
    for (const std::string &user : options.shapes)
      given |= user.starts_with(name);
    if (!given)
      add("--shape", shape);
  }
  for (const std::string &dim : options.dims)
    add("--dim", dim);
  add("--target-cpu", options.targetCpu);
  add("--device", options.device);
  if (options.taps)
    args.push_back("--taps");
  if (options.threads)
    add("--threads", std::to_string(options.threads));
  if (options.quiet)
    args.push_back("--quiet");
  return args;
}

namespace {
/// The flat JSON object that gaudi-opt prints: strings, numbers, true, false, null.
struct ObjectReader {
  std::string_view rest;

  void skip() {
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\n' || rest[0] == '\r' || rest[0] == '\t'))
      rest.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (rest.empty() || rest[0] != c)
      return false;
    rest.remove_prefix(1);
    return true;
  }
  bool escape(std::string &out) {
    if (rest.empty())
      return false;
    char c = rest[0];
    rest.remove_prefix(1);
    static constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
    if (size_t at = from.find(c); at != from.npos) {
      out += to[at];
      return true;
    }
    // \uXXXX: the compiler escapes control characters only; paths are UTF-8 as they are.
    unsigned code = 0;
    if (c != 'u' || rest.size() < 4)
      return false;
    for (char digit : rest.substr(0, 4)) {
      if (!std::isxdigit(static_cast<unsigned char>(digit)))
        return false;
      code = code * 16 + static_cast<unsigned>(digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10);
    }
    rest.remove_prefix(4);
    out += static_cast<char>(code);
    return code < 0x80;
  }
  bool string(std::string &out) {
    out.clear();
    if (!take('"'))
      return false;
    while (!rest.empty() && rest[0] != '"') {
      char c = rest[0];
      rest.remove_prefix(1);
      if (c != '\\')
        out += c;
      else if (!escape(out))
        return false;
    }
    return take('"');
  }
  /// Numbers and words come back as text.
  bool scalar(std::string &out) {
    skip();
    if (!rest.empty() && rest[0] == '"')
      return string(out);
    size_t end = std::min(rest.find_first_of(",} \n"), rest.size());
    out = rest.substr(0, end);
    rest.remove_prefix(end);
    return end > 0 && out[0] != '{' && out[0] != '[';
  }
};
} // namespace

static bool assign(const std::string &key, const std::string &value, ResolvedModel &out) {
  if (key == "artifact")
    out.artifact = value;
  else if (key == "weights")
    out.weights = value;
  else if (key == "cache")
    out.cache = value;
  else if (key == "key")
    out.key = value;
  else if (key == "compile_ms")
    return parseNumber(value, out.compileMs);
  else if (key == "saved_ms")
    return parseNumber(value, out.savedMs);
  else if (key == "temporary")
    out.temporary = value == "true";
  return true;
}

Expected<ResolvedModel> parseResolution(std::string_view line) {
  auto bad = [&] {
    return Status::error(StatusCode::Internal,
                         cat("gaudi-opt: cannot read its answer (found '", line.substr(0, 200), "')"),
                         "are gaudi-run and gaudi-opt of the same version?");
  };
  ResolvedModel out;
  ObjectReader in = {line};
  if (!in.take('{'))
    return bad();
  while (!in.take('}')) {
    std::string key, value;
    if (!in.string(key) || !in.take(':') || !in.scalar(value) || !assign(key, value, out))
      return bad();
    (void)in.take(',');
  }
  in.skip();
  return out.artifact.empty() || !in.rest.empty() ? Expected<ResolvedModel>(bad())
                                                  : Expected<ResolvedModel>(std::move(out));
}

static std::string readAll(int fd) {
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR);)
    out.append(buffer, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return out;
}

/// Runs the command with stdout into `output` and stderr passed through. Its exit code, 128 + signal, or -errno.
static int runChild(const std::vector<std::string> &arguments, std::string &output) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0)
    return -errno;
  FileDescriptor read(pipe[0]), write(pipe[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write.get(), STDOUT_FILENO);
  std::vector<char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  write.reset();
  if (error)
    return -error;
  setChild(pid);
  output = readAll(read.get());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  setChild(0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Expected<ResolvedModel> resolveModel(const std::string &model, const ModelOptions &options,
                                     const std::vector<std::string> &shapes) {
  Expected<bool> direct = isArtifact(model);
  if (!direct.ok())
    return direct.takeStatus();
  if (*direct) {
    ResolvedModel resolved;
    resolved.artifact = model;
    resolved.weights = options.weights;
    return resolved;
  }
  Expected<std::string> compiler = findCompiler();
  if (!compiler.ok())
    return compiler.takeStatus();
  std::string output;
  int code = runChild(compilerArguments(*compiler, model, options, shapes), output);
  if (code < 0)
    return Status::error(StatusCode::Runtime, cat(*compiler, ": cannot start: ", ::strerrordesc_np(-code)));
  if (code > 128)
    return Status::error(StatusCode::Internal,
                         cat(*compiler, ": ended by signal ", code - 128, " while compiling ", model),
                         "please report it with the model");
  if (code != 0)
    return Status::error(static_cast<StatusCode>(code), "");
  return parseResolution(output);
}

void removeTemporary(const ResolvedModel &model) {
  if (!model.temporary)
    return;
  ::unlink(model.artifact.c_str());
  if (!model.weights.empty())
    ::unlink(model.weights.c_str());
  ::rmdir(model.artifact.substr(0, model.artifact.rfind('/')).c_str()); // fails, rightly, if anything else is in it
}

std::string describeCache(const ResolvedModel &model, double openMs) {
  if (model.cache == "none")
    return {};
  std::string out = cat("cache: ", model.cache, " ", model.key.substr(0, 8));
  if (model.cache == "hit")
    return cat(out, " load ", duration(openMs), " (saved ", duration(model.savedMs), ")");
  return cat(out, " compiled in ", duration(model.compileMs), ", load ", duration(openMs));
}

} // namespace gaudi::run
