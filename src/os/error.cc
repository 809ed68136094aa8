#include "os/error.h"

#include <fmt/format.h>
#include <string.h>

#include <cerrno>
#include <string>

#include "base/units.h"

namespace spate::os {
namespace {

std::string_view NextStep(int error) {
  switch (error) {
    case ENOSPC:
      return "; free some space there, or choose another place";
    case EDQUOT:
      return "; the quota is used up: remove something, or choose another place";
    case EFBIG:
      return "; a limit of this process (ulimit -f) or of the file system bounds files: raise it, "
             "or "
             "choose another place";
    case EMFILE:
      return "; raise this process's limit of open files (ulimit -n)";
    case ENFILE:
      return "; the whole system has too many open files: try again later";
    case ENAMETOOLONG:
      return "; a path may have 4,095 bytes, and each name in it 255: use shorter names";
    case EROFS:
      return "; choose a place that can be written to";
    case EADDRINUSE:
      return "; another program listens there: stop it, or choose another port";
    case EADDRNOTAVAIL:
      return "; no network of this machine has that address: choose one of its own, or *";
    case EAFNOSUPPORT:
      return "; this machine lacks that kind of network: use an IPv4 address";
    case ECONNREFUSED:
      return "; nothing listens there: start it, or check the address";
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ETIMEDOUT:
      return "; check the address, the network and any firewall between";
    default:
      return "";
  }
}

}  // namespace

ErrorKind KindOfErrno(int error) {
  switch (error) {
    case ENOENT:
    case ESRCH:
      return ErrorKind::kNotFound;
    case EEXIST:
    case ENOTEMPTY:
      return ErrorKind::kExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorKind::kPermission;
    case EBUSY:
    case ETXTBSY:
    case EAGAIN:
    case EDEADLK:
    case EADDRINUSE:
      return ErrorKind::kBusy;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EFBIG:
      return ErrorKind::kExhausted;
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case ELOOP:
    case EBADF:
      return ErrorKind::kInvalid;
    case ENOSYS:
    case EOPNOTSUPP:
    case ENODEV:
    case ENXIO:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case ECONNREFUSED:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ETIMEDOUT:
      return ErrorKind::kUnavailable;
    default:
      return ErrorKind::kIo;
  }
}

std::string_view TextOfErrno(int error) {
  // Unlike strerror it is safe with threads and does not depend on the locale.
  const char* text = strerrordesc_np(error);
  return text != nullptr ? text : "unknown error";
}

Error SystemError(int error, std::string_view verb, std::string_view path) {
  return {KindOfErrno(error), fmt::format("cannot {} '{}': {}{}", verb, EscapeForScreen(path),
                                          TextOfErrno(error), NextStep(error))};
}

Error SystemError(int error, std::string_view what) {
  return {KindOfErrno(error),
          fmt::format("cannot {}: {}{}", what, TextOfErrno(error), NextStep(error))};
}

std::unexpected<Error> FailErrno(std::string_view verb, std::string_view path) {
  return std::unexpected(SystemError(errno, verb, path));
}

std::unexpected<Error> FailErrno(std::string_view what) {
  return std::unexpected(SystemError(errno, what));
}

}  // namespace spate::os
