//===- Status.h - error values of the public API ----------------*- C++ -*-===//
//
// A Status is either success (a null pointer, free to test) or a code, a message and an optional hint.
// The code is also the process exit code of the tools (docs/exit-codes.md, DESIGN 13), so that one number travels from
// the place of the fault to the shell.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace gaudi {

/// Kind of failure. The values are the tools' exit codes: never renumber.
enum class StatusCode : int {
  Ok = 0,
  Failed = 1,           ///< compile failure, or a check that did not hold
  Usage = 2,            ///< wrong flag, unknown input name, shape that does not fit the signature
  InvalidInput = 3,     ///< the model or data file is broken
  Unsupported = 4,      ///< valid, but we cannot do it
  ResourceLimit = 5,    ///< a limit or memory budget would be exceeded
  Runtime = 6,          ///< a kernel or device failed while running
  OutputsDiffer = 7,    ///< comparison with expected outputs failed
  BadArtifact = 8,      ///< artefact corrupt, incompatible or untrusted
  CacheMiss = 9,        ///< a required cache entry is missing
  Internal = 10,        ///< a bug of ours
  Timeout = 124,
};

/// Success or an error. Cheap to move; success allocates nothing. Not thread-safe to mutate.
class [[nodiscard]] Status {
public:
  Status() = default;

  /// `message` has the form `WHERE: WHAT (found X, expected Y)`, lower case, no final period; `hint` says what to do.
  static Status error(StatusCode code, std::string message, std::string hint = {}) {
    Status s;
    s.payload = std::make_unique<Payload>(Payload{code, std::move(message), std::move(hint)});
    return s;
  }

  bool ok() const { return !payload; }
  explicit operator bool() const = delete; // ambiguous to readers: use ok()
  StatusCode code() const { return payload ? payload->code : StatusCode::Ok; }
  const std::string &message() const { return payload ? payload->message : empty(); }
  const std::string &hint() const { return payload ? payload->hint : empty(); }

  /// The same error seen from one level up: `where: message`.
  Status annotate(const std::string &where) && {
    if (payload)
      payload->message = where + ": " + payload->message;
    return std::move(*this);
  }

private:
  struct Payload {
    StatusCode code;
    std::string message, hint;
  };
  static const std::string &empty() {
    static const std::string e;
    return e;
  }
  std::unique_ptr<Payload> payload;
};

/// A value or the Status that says why there is none.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T v) : value(std::move(v)) {}
  Expected(Status s) : err(std::move(s)) {}
  bool ok() const { return value.has_value(); }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }
  const Status &status() const { return err; }
  Status takeStatus() { return std::move(err); }
  T take() { return std::move(*value); }

private:
  std::optional<T> value;
  Status err;
};

} // namespace gaudi

/// Returns the error of a Status expression from the enclosing function, if there is one.
#define GAUDI_TRY(expr)                                                                                                \
  do {                                                                                                                 \
    if (::gaudi::Status gaudiTryStatus_ = (expr); !gaudiTryStatus_.ok())                                               \
      return gaudiTryStatus_;                                                                                          \
  } while (0)
