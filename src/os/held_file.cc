// A process that opens the file just before it is replaced locks a file without a name, so after
// each lock the name is looked up again. A new file is locked before it gets its name.
#include "os/held_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/units.h"
#include "os/clock.h"
#include "os/error.h"
#include "os/file.h"

namespace spate::os {
namespace {

// Like FileLock: a process that was killed while it started another one may have the lock for
// a moment longer.
constexpr int64_t kPatience = 300'000'000;  // nanoseconds
constexpr int kPause = 2;                   // milliseconds

enum class Lock : uint8_t { kGot, kHeld, kUnknown };

Lock TryLock(int fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return Lock::kGot;
  return errno == EAGAIN || errno == EACCES ? Lock::kHeld : Lock::kUnknown;
}

std::unexpected<Error> Held(const std::string& path) {
  return Fail(ErrorKind::kBusy,
              fmt::format("'{}' is held by another process", EscapeForScreen(path)));
}

// kBusy: somebody else was quicker. A file system without second names cannot tell.
Status NameNew(const std::string& fresh, const std::string& path) {
  if (link(fresh.c_str(), path.c_str()) == 0) return RemoveFile(fresh);
  return errno == EEXIST ? Held(path) : Rename(fresh, path);
}

}  // namespace

Result<HeldFile> HeldFile::Hold(std::string path) {
  HeldFile file(std::move(path));
  TRY(file.Acquire());
  return file;
}

bool HeldFile::IsThere() const {
  auto there = Stat(path_);
  auto ours = StatFd(fd_.get(), path_);
  return there && ours && there->inode == ours->inode && there->device == ours->device;
}

Status HeldFile::Acquire() {
  const int64_t until = MonotonicNanos() + kPatience;
  for (;; poll(nullptr, 0, kPause)) {
    fd_ = Fd(open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    missing_ = !fd_ && errno == ENOENT;
    if (!fd_) return {};  // one that cannot be opened can be replaced
    switch (TryLock(fd_.get())) {
      case Lock::kUnknown:
        return {};
      case Lock::kGot:
        if (IsThere()) return {};
        break;
      case Lock::kHeld:
        if (MonotonicNanos() > until) {
          fd_.Reset();
          return Held(path_);
        }
        break;
    }
  }
}

Status HeldFile::Write(std::string_view bytes, uint32_t permissions) {
  if (!fd_ || !IsThere()) {
    TRY(Acquire());
  }
  const std::string fresh = JoinPath(
      DirName(path_), fmt::format(".{}.{}-{}.new", BaseName(path_), getpid(), MonotonicNanos()));
  auto fd = TRY(OpenWrite(fresh, OpenHow::kCreateNew, permissions));
  (void)TryLock(fd.get());  // nobody else knows its name
  Status status = WriteAll(fd.get(), bytes, fresh);
  if (status) status = Fsync(fd.get(), fresh);
  if (status) status = missing_ ? NameNew(fresh, path_) : Rename(fresh, path_);
  if (!status) {
    (void)RemoveFile(fresh);
    return status;
  }
  fd_ = std::move(fd);
  missing_ = false;
  return FsyncDir(DirName(path_));
}

void HeldFile::Release() {
  if (!fd_) return;
  struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
  (void)fcntl(fd_.get(), F_OFD_SETLK, &lock);
  fd_.Reset();
}

}  // namespace spate::os
