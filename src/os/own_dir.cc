// The way to a folder is walked by descriptors, from the root, over no links: what was looked at is
// what is there.
#include "os/own_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
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

// Calls `look` for each folder on the way to `path`, which exists, until it finds something wrong.
// Returns the folder itself (O_PATH).
Result<Fd> WalkTo(const std::string& path, const std::function<Status(const Step&)>& look) {
  auto real = TRY(RealPath(path));
  Fd at(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  Step step;
  for (size_t end = 0;;) {
    step.path = end == 0 ? "/" : real.substr(0, end);
    step.last = end == real.size() || real == "/";
    if (!at || fstat(at.get(), &step.info) != 0) return FailErrno("look at the folder", step.path);
    TRY(look(step));
    if (step.last) return at;
    size_t begin = end + 1;
    end = std::min(real.find('/', begin), real.size());
    std::string name = real.substr(begin, end - begin);
    at = Fd(openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
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
  static constexpr struct {
    uint32_t closed;
    const char *what, *bits;
  } kRules[] = {{022, "change", "w"}, {066, "read or change", "rw"}, {077, "access", "rwx"}};
  const auto& rule = kRules[static_cast<size_t>(others)];
  if ((step.info.st_mode & rule.closed) == 0) return {};
  return Fail(ErrorKind::kPermission,
              fmt::format("other users can {} files in {}\nRemove that permission: chmod go-{} {}",
                          rule.what, EscapeForScreen(step.path), rule.bits, ShellQuote(step.path)));
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
  TRY(WalkTo(path, [&](const Step& step) { return CheckAbove(step, self, option); }));
  return {};
}

Result<Fd> OpenOwnDir(const std::string& path, Others others, std::string_view option) {
  const uint32_t self = EffectiveUser();
  return WalkTo(path, [&](const Step& step) {
    return step.last ? CheckOwn(step, self, others, option) : CheckAbove(step, self, option);
  });
}

Status MakeOwnDir(const std::string& path, Others others, std::string_view option) {
  // Nothing is made where it could not stay.
  std::string above = path;
  while (!Exists(above)) above = DirName(above);
  if (above != path) TRY(CheckWay(above, option));
  TRY(MakeDirs(path, 0700));
  TRY(OpenOwnDir(path, others, option));
  return {};
}

namespace {

constexpr int kLook = O_PATH | O_CLOEXEC;
constexpr int kFolder = kLook | O_DIRECTORY;

// The name to open for `name` in `dir`: its target if it is a link that this process may follow.
// A link in /proc keeps its name, because the kernel resolves it to an open file.
Result<std::string> TargetOf(const Fd& dir, const std::string& name, const std::string& shown) {
  Fd there(openat(dir.get(), name.c_str(), kLook | O_NOFOLLOW));
  struct stat info;
  struct statfs system;
  if (!there || fstat(there.get(), &info) != 0 || fstatfs(dir.get(), &system) != 0) {
    return FailErrno("open", shown);
  }
  if (!S_ISLNK(info.st_mode) || system.f_type == PROC_SUPER_MAGIC) return name;
  if (info.st_uid != kRoot && info.st_uid != EffectiveUser()) {
    errno = EACCES;
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

// The folder `name` in `dir`, which is made if it is missing. What was checked is what is opened.
// O_DIRECTORY comes first: an automounter mounts only for a process that wants a folder.
Result<Fd> OpenStep(const Fd& dir, const std::string& name, const std::string& shown,
                    Missing missing) {
  Fd there(openat(dir.get(), name.c_str(), kFolder | O_NOFOLLOW));
  if (!there && errno == ENOENT && missing == Missing::kMake) {
    if (mkdirat(dir.get(), name.c_str(), 0777) != 0 && errno != EEXIST) {
      return FailErrno("make the folder", shown);
    }
    there = Fd(openat(dir.get(), name.c_str(), kFolder | O_NOFOLLOW));
  }
  if (!there && (errno == ENOTDIR || errno == ELOOP)) {
    auto target = TRY(TargetOf(dir, name, shown));
    there = Fd(openat(dir.get(), target.c_str(), kFolder));
  }
  if (!there) return FailErrno("open the folder", shown);
  return there;
}

}  // namespace

Result<Fd> OpenDirBelow(const std::string& top, std::string_view relative, Missing missing) {
  Fd at(open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at) return FailErrno("open the folder", top);
  std::string shown = top;
  while (!relative.empty()) {
    size_t end = std::min(relative.find('/'), relative.size());
    std::string name(relative.substr(0, end));
    relative.remove_prefix(std::min(end + 1, relative.size()));
    if (name.empty() || name == ".") continue;
    shown = JoinPath(shown, name);
    auto next = OpenStep(at, name, shown, missing);
    if (!next) return next;
    at = std::move(*next);
  }
  return at;
}

Result<Fd> OpenNamed(const std::string& path, OpenHow how, Missing missing) {
  return OpenNamed(path, FlagsOf(how), missing);
}

Result<Fd> OpenNamed(const std::string& path, int how, Missing missing) {
  const size_t slash = path.rfind('/') + 1;  // 0: in the current folder
  const std::string name = path.substr(slash);
  how |= O_CLOEXEC | O_NOCTTY;
  auto dir = OpenDirBelow(path.starts_with('/') ? "/" : ".", path.substr(0, slash), missing);
  if (!dir && dir.error().kind != ErrorKind::kPermission) return FailErrno("open", path);
  if (!dir) return dir;
  Fd file(openat(dir->get(), name.c_str(), how | O_NOFOLLOW, 0666));
  if (!file && errno == ELOOP) {
    auto target = TRY(TargetOf(*dir, name, path));
    file = Fd(openat(dir->get(), target.c_str(), how, 0666));
  }
  if (!file) return FailErrno("open", path);
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
  TRY(WalkTo(DirName(path), [&](const Step& step) -> Status {
    uint32_t owner = step.info.st_uid;
    if (step.last && owner != peer.user) return unsure(step, "is not theirs");
    if (owner != kRoot && owner != self && owner != peer.user) {
      return unsure(step, fmt::format("belongs to {}", AccountName(owner)));
    }
    if (step.OthersWrite()) return unsure(step, "may be changed by others");
    return {};
  }));
  return {};
}

}  // namespace spate::os
