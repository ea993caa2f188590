//===- Console.cpp - messages on stderr, results on stdout ----------------===//
#include "tools/gaudi-run/Console.h"
#include "tools/gaudi-run/io/WriteFile.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace gaudi::run {

/// https://no-color.org: any non-empty value turns colour off.
static bool colorByDefault() {
  const char *noColor = std::getenv("NO_COLOR");
  return ::isatty(STDERR_FILENO) && !(noColor && *noColor);
}

Console::Console(const Options &options)
    : verbosity(options.verbosity), color(options.color == "always" || (options.color == "auto" && colorByDefault())),
      jsonOn(options.json), jsonFile(options.jsonFile) {}

void Console::line(const char *label, const char *colorCode, const std::string &text) const {
  std::string out = color ? std::string(colorCode) + label + "\033[0m" : label;
  out += text;
  out += '\n';
  std::fwrite(out.data(), 1, out.size(), stderr); // one write: lines of threads and children do not mix
}

int Console::error(const Status &status) const {
  if (!status.message().empty())
    line("error: ", "\033[1;31m", status.message());
  if (!status.hint().empty())
    line("hint: ", "\033[1;36m", status.hint());
  return static_cast<int>(status.code());
}

void Console::warning(const std::string &text) const {
  if (verbosity > 0)
    line("warning: ", "\033[1;35m", text);
}

void Console::info(const std::string &text) const {
  if (verbosity > 0)
    line("", "", text);
}

void Console::detail(const std::string &text) const {
  if (verbosity > 1)
    line("", "", text);
}

static Status print(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return {};
  return Status::error(StatusCode::Runtime, "stdout: cannot write");
}

Status Console::result(const std::string &text) const { return jsonOn && jsonFile.empty() ? Status() : print(text); }

Status Console::json(const std::string &value) const {
  if (!jsonOn)
    return {};
  return jsonFile.empty() ? print(value + "\n") : io::writeFile(jsonFile, {value, "\n"});
}

} // namespace gaudi::run
