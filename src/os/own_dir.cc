// The way to a folder is walked by descriptors, from the root, over no links: what was looked at is
// what is there.
#include "os/own_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
#include <optional>
#include <utility>

#include "base/units.h"
#include "os/account.h"
#include "os/error.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/socket.h"

namespace spate::os {
namespace {

constexpr uint32_t kRoot = 0;

struct Step {
  std::string path;
  struct stat info;
  bool last = false;  // the folder itself
  bool AnybodyWrites() const { return (info.st_mode & S_IWOTH) != 0; }
  bool OthersWrite() const { return (info.st_mode & (S_IWGRP | S_IWOTH)) != 0; }
  bool IsSticky() const { return (info.st_mode & S_ISVTX) != 0; }
};

// Looks at each folder on the way to `path`, which exists, until `look` finds something wrong.
Status WalkTo(const std::string& path, const std::function<Status(const Step&)>& look) {
  auto real = TRY(RealPath(path));
  Fd at(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  Step step;
  for (size_t end = 0;;) {
    step.path = end == 0 ? "/" : real.substr(0, end);
    step.last = end == real.size() || real == "/";
    if (!at || fstat(at.get(), &step.info) != 0) return FailErrno("look at the folder", step.path);
    if (auto fine = look(step); !fine || step.last) return fine;
    size_t begin = end + 1;
    end = std::min(real.find('/', begin), real.size());
    std::string name = real.substr(begin, end - begin);
    at = Fd(openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
}

std::string AccountName(uint32_t user) {
  auto account = AccountById(user);
  return account ? account->name : fmt::format("uid {}", user);
}

std::unexpected<Error> Unsafe(const Step& step, std::string_view why,
                              std::string_view option = kStateOption) {
  return Fail(ErrorKind::kPermission,
              fmt::format("the folder {} {}\nName one where nobody else may write: {}",
                          EscapeForScreen(step.path), why, option));
}

Status CheckOwn(const Step& step, uint32_t self, Others others, std::string_view option) {
  if (step.info.st_uid != self) {
    return Unsafe(
        step,
        fmt::format("belongs to {}, not to {}", AccountName(step.info.st_uid), AccountName(self)),
        option);
  }
  uint32_t closed = others == Others::kMayPass ? 066 : 022;
  if ((step.info.st_mode & closed) == 0) return {};
  const char* what = others == Others::kMayPass ? "read or change" : "change";
  return Fail(ErrorKind::kPermission,
              fmt::format("others may {} what is in the folder {}\nClose it: chmod go-{} {}", what,
                          EscapeForScreen(step.path), others == Others::kMayPass ? "rw" : "w",
                          ShellQuote(step.path)));
}

Status CheckAbove(const Step& step, uint32_t self, std::string_view option = kStateOption) {
  if (self != kRoot) {
    return step.AnybodyWrites() && !step.IsSticky()
               ? Unsafe(step, "may be changed by anybody", option)
               : Status();
  }
  if (step.info.st_uid != kRoot) {
    return Unsafe(step,
                  fmt::format("belongs to {}, who could change what root relies on",
                              AccountName(step.info.st_uid)),
                  option);
  }
  if (!step.OthersWrite() || step.IsSticky()) return {};
  return Unsafe(step, "may be changed by others, and root would rely on what is below it", option);
}

}  // namespace

Status CheckWay(const std::string& path, std::string_view option) {
  const uint32_t self = EffectiveUser();
  return WalkTo(path, [&](const Step& step) { return CheckAbove(step, self, option); });
}

Status MakeOwnDir(const std::string& path, Others others, std::string_view option) {
  const uint32_t self = EffectiveUser();
  // Nothing is made where it could not stay.
  std::string above = path;
  while (!Exists(above)) above = DirName(above);
  if (above != path) {
    auto fine = WalkTo(above, [&](const Step& step) { return CheckAbove(step, self, option); });
    if (!fine) return fine;
  }
  TRY(MakeDirs(path, 0700));
  return WalkTo(path, [&](const Step& step) {
    return step.last ? CheckOwn(step, self, others, option) : CheckAbove(step, self, option);
  });
}

namespace {

// Looks at what `there` is, which was opened by its name in `dir` and is shown as `shown`: the
// target of a link that this process may follow; nullopt: it is no link.
Result<std::optional<std::string>> TargetOf(const Fd& there, const std::string& shown) {
  struct stat info;
  if (fstat(there.get(), &info) != 0) return FailErrno("open", shown);
  if (!S_ISLNK(info.st_mode)) return std::nullopt;
  if (info.st_uid != kRoot && info.st_uid != EffectiveUser()) {
    return Fail(ErrorKind::kPermission,
                fmt::format("{} is a link of {}, and is not followed", EscapeForScreen(shown),
                            AccountName(info.st_uid)));
  }
  std::string target(PATH_MAX, '\0');
  ssize_t size = readlinkat(there.get(), "", target.data(), target.size());
  if (size < 0) return FailErrno("read the link", shown);
  target.resize(static_cast<size_t>(size));
  return target;
}

constexpr int kLook = O_PATH | O_CLOEXEC;

// The folder `name` in `dir`, which is made when it is missing. What was looked at is what is
// opened.
Result<Fd> OpenStep(const Fd& dir, const std::string& name, const std::string& shown) {
  Fd there(openat(dir.get(), name.c_str(), kLook | O_NOFOLLOW));
  if (!there && errno == ENOENT) {
    if (mkdirat(dir.get(), name.c_str(), 0777) != 0 && errno != EEXIST) {
      return FailErrno("make the folder", shown);
    }
    there = Fd(openat(dir.get(), name.c_str(), kLook | O_NOFOLLOW));
  }
  if (!there) return FailErrno("open the folder", shown);
  auto target = TRY(TargetOf(there, shown));
  if (target) there = Fd(openat(dir.get(), target->c_str(), kLook | O_DIRECTORY));
  struct stat info;
  if (!there || fstat(there.get(), &info) != 0) return FailErrno("open the folder", shown);
  if (S_ISDIR(info.st_mode)) return there;
  errno = ENOTDIR;
  return FailErrno("open the folder", shown);
}

}  // namespace

Result<Fd> OpenDirBelow(const std::string& top, std::string_view relative) {
  Fd at(open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at) return FailErrno("open the folder", top);
  std::string shown = top;
  while (!relative.empty()) {
    size_t end = std::min(relative.find('/'), relative.size());
    std::string name(relative.substr(0, end));
    relative.remove_prefix(std::min(end + 1, relative.size()));
    if (name.empty() || name == ".") continue;
    shown = JoinPath(shown, name);
    auto next = OpenStep(at, name, shown);
    if (!next) return next;
    at = std::move(*next);
  }
  return at;
}

Result<Fd> OpenFileBelow(const std::string& top, std::string_view relative, Devices devices) {
  constexpr int kHow = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const std::string shown = JoinPath(top, relative);
  const size_t slash = relative.rfind('/');
  const bool is_here = slash == std::string_view::npos;
  auto dir = TRY(OpenDirBelow(top, is_here ? std::string_view() : relative.substr(0, slash)));
  std::string name(is_here ? relative : relative.substr(slash + 1));
  Fd file(openat(dir.get(), name.c_str(), kHow | O_NOFOLLOW, 0666));
  if (!file && errno == ELOOP) {
    Fd link(openat(dir.get(), name.c_str(), kLook | O_NOFOLLOW));
    if (!link) return FailErrno("open", shown);
    auto target = TRY(TargetOf(link, shown));
    file = Fd(openat(dir.get(), target.value_or(name).c_str(), kHow, 0666));
  }
  const int error = errno;
  struct stat info;
  const int seen = file ? fstat(file.get(), &info) : fstatat(dir.get(), name.c_str(), &info, 0);
  const bool is_device = S_ISCHR(info.st_mode) && devices == Devices::kAllow;
  if (seen == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode) && !is_device) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("cannot write to '{}': it is not a regular file; name another one, or "
                            "remove it",
                            EscapeForScreen(shown)));
  }
  errno = error;
  if (!file) return FailErrno("open", shown);
  return file;
}

Status CheckListener(int fd, const std::string& path) {
  auto peer = TRY(PeerOf(fd));
  const uint32_t self = EffectiveUser();
  if (peer.user == kRoot || peer.user == self) return {};
  auto unsure = [&](const Step& step, std::string_view why) {
    return Fail(ErrorKind::kPermission,
                fmt::format("{} listens there, and the folder {} {}: it may be a false hub; ask "
                            "who runs the hub for an access file",
                            AccountName(peer.user), EscapeForScreen(step.path), why));
  };
  return WalkTo(DirName(path), [&](const Step& step) -> Status {
    uint32_t owner = step.info.st_uid;
    if (step.last && owner != peer.user) return unsure(step, "is not theirs");
    if (owner != kRoot && owner != self && owner != peer.user) {
      return unsure(step, fmt::format("belongs to {}", AccountName(owner)));
    }
    if (step.OthersWrite()) return unsure(step, "may be changed by others");
    return {};
  });
}

}  // namespace spate::os
