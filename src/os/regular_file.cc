#include "os/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/units.h"
#include "os/error.h"

namespace spate::os {

Result<Fd> OpenRegularFile(const std::string& path, bool append) {
  constexpr int kHow = O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
  Fd fd(open(path.c_str(), kHow | (append ? O_WRONLY | O_APPEND : O_RDWR), 0666));
  int error = errno;
  struct stat info{};
  int seen = fd ? fstat(fd.get(), &info) : stat(path.c_str(), &info);
  bool is_other = seen == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
  if (is_other) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("cannot write to '{}': it is not a regular file; name another one, or "
                            "remove it",
                            EscapeForScreen(path)));
  }
  errno = error;
  if (!fd) return FailErrno("open", path);
  return fd;
}

Result<Fd> OpenOwnFile(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY));
  if (!fd && errno != ELOOP) return FailErrno("open", path);
  struct stat info{};
  if (fd && fstat(fd.get(), &info) != 0) return FailErrno("look at", path);
  const bool is_own = fd && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
                      (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (is_own) return fd;
  return Fail(ErrorKind::kPermission,
              fmt::format("'{}' is not a file that only this user writes", EscapeForScreen(path)));
}

}  // namespace spate::os
