// Errors of the system as ours: the kind from errno, the message for a person.
#pragma once

#include <string_view>

#include "base/result.h"

namespace spate::os {

ErrorKind KindOfErrno(int error);
// "Permission denied": the system's words, from any thread.
std::string_view TextOfErrno(int error);

// "cannot VERB 'PATH': Permission denied", and what to do next where that is clear from the error
// alone. PATH is escaped for the screen.
Error SystemError(int error, std::string_view verb, std::string_view path);
// "cannot WHAT: Permission denied", when there is no path.
Error SystemError(int error, std::string_view what);
// The same from errno, to be returned.
[[nodiscard]] std::unexpected<Error> FailErrno(std::string_view verb, std::string_view path);
[[nodiscard]] std::unexpected<Error> FailErrno(std::string_view what);

}  // namespace spate::os
