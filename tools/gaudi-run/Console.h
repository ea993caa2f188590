//===- Console.h - messages on stderr, results on stdout --------*- C++ -*-===//
#pragma once

#include "gaudi/Status.h"
#include "tools/gaudi-run/Options.h"

#include <string>

namespace gaudi::run {

class Console {
public:
  explicit Console(const Options &options);

  /// `error: ...` and `hint: ...`; nothing for a status without a message (a child has reported it). The exit code.
  int error(const Status &status) const;
  void warning(const std::string &text) const;
  /// One line unless -q.
  void info(const std::string &text) const;
  /// One line with -v.
  void detail(const std::string &text) const;
  bool verbose() const { return verbosity > 1; }

  /// Text for people, on stdout; dropped when stdout carries JSON.
  Status result(const std::string &text) const;
  /// The JSON value of --json[=FILE]; nothing without --json.
  Status json(const std::string &value) const;
  bool wantsJson() const { return jsonOn; }

private:
  void line(const char *label, const char *colorCode, const std::string &text) const;

  int verbosity;
  bool color, jsonOn;
  std::string jsonFile;
};

} // namespace gaudi::run
