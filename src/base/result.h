// Result<T>: a value or an Error, for failures that are expected.
//
// Programmer errors are CHECKs (base/check.h), never Results. No exception crosses a folder.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/advice.h"

namespace spate {

// The kind of an error, for callers that react to it. Kept short on purpose: an exit code or a
// retry hangs on the kind, everything else is in the message.
enum class ErrorKind {
  kInvalid,      // the input is wrong; the message names the place and the fix
  kNotFound,     // the named thing does not exist
  kExists,       // the named thing is there already
  kPermission,   // the system or a policy forbids it
  kBusy,         // somebody else holds it
  kExhausted,    // no space, descriptors, processes, memory, or a limit of ours
  kCorrupt,      // stored data is damaged
  kUnavailable,  // the facility is missing on this machine
  kIo,           // the system failed in another way
  kUnknown,      // it may have been done, or not: whoever was asked has not answered
  kNewer,        // stored data is of a newer release, and sound as far as is known
};

struct Error {
  ErrorKind kind = ErrorKind::kIo;
  std::string message;  // one or more full lines for a person, without a trailing newline
  Remedy remedy = {};   // what to do about it, behind the message (present/advice.h)
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

[[nodiscard]] inline std::unexpected<Error> Fail(ErrorKind kind, std::string message,
                                                 Remedy remedy = {}) {
  return std::unexpected(Error{kind, std::move(message), std::move(remedy)});
}

// The same error with "context: " in front of its message.
[[nodiscard]] inline std::unexpected<Error> Within(std::string_view context, Error error) {
  error.message.insert(0, ": ");
  error.message.insert(0, context);
  return std::unexpected(std::move(error));
}

}  // namespace spate

// The value of the Result that the expression gives, moved out of it; of a Status, nothing. An
// error is returned from the enclosing function, which returns a Result or a Status:
//
//   auto text = TRY(os::ReadFile(path, kMost));
//   TRY(store.Sync());
//
// A statement expression of g++ and clang. A value without a name ends with the statement: give one
// to a lock or a process that is to last.
#define TRY(...) SPATE_TRY_NAMED(SPATE_TRY_JOIN(try_, __COUNTER__), __VA_ARGS__)
#define SPATE_TRY_JOIN(a, b) SPATE_TRY_JOINED(a, b)
#define SPATE_TRY_JOINED(a, b) a##b
#define SPATE_TRY_NAMED(name, ...)                     \
  __extension__({                                      \
    auto&& name = (__VA_ARGS__);                       \
    if (!name) [[unlikely]]                            \
      return std::unexpected(std::move(name).error()); \
    *std::move(name);                                  \
  })
