#include "os/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/units.h"
#include "os/error.h"
#include "os/own_dir.h"

namespace spate::os {

Result<Fd> OpenRegularFile(const std::string& path, RegularFor what, Devices devices) {
  constexpr int kHow[] = {O_RDONLY, O_RDWR | O_CREAT, O_WRONLY | O_APPEND | O_CREAT};
  const bool reads = what == RegularFor::kReading;
  auto fd = OpenNamed(path, kHow[static_cast<size_t>(what)] | O_NONBLOCK,
                      what == RegularFor::kAppending ? Missing::kMake : Missing::kFails);
  struct stat info{};
  const int seen = fd ? fstat(fd->get(), &info) : stat(path.c_str(), &info);
  const bool is_device = S_ISCHR(info.st_mode) && devices == Devices::kAllow;
  if (seen != 0 || S_ISREG(info.st_mode) || is_device || (!fd && S_ISDIR(info.st_mode))) return fd;
  return Fail(ErrorKind::kInvalid,
              fmt::format("cannot {} '{}': it is not a regular file; name another one, or "
                          "remove it",
                          reads ? "read" : "write to", EscapeForScreen(path)));
}

Result<Fd> OpenOwnFile(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY));
  if (!fd && errno != ELOOP) return FailErrno("open", path);
  struct stat info{};
  if (fd && fstat(fd.get(), &info) != 0) return FailErrno("look at", path);
  const bool is_own = fd && S_ISREG(info.st_mode) &&
                      (info.st_uid == 0 || info.st_uid == geteuid()) &&
                      (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (is_own) return fd;
  return Fail(ErrorKind::kPermission,
              fmt::format("'{}' is not a file that only this user writes", EscapeForScreen(path)));
}

}  // namespace spate::os
