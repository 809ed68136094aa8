#include "os/fd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/units.h"
#include "os/error.h"

namespace spate::os {
namespace {

void WaitFor(int fd, short events) {
  pollfd p{.fd = fd, .events = events, .revents = 0};
  poll(&p, 1, -1);
}

}  // namespace

void Fd::Reset(int fd) {
  // After EINTR Linux has closed the descriptor; a second close could hit somebody else's.
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

Status Fd::Close() {
  if (fd_ < 0) return {};
  if (close(Release()) != 0 && errno != EINTR) return FailErrno("close a file");
  return {};
}

Result<Pipe> MakePipe() {
  int fd[2];
  if (pipe2(fd, O_CLOEXEC) != 0) return FailErrno("make a pipe");
  return Pipe{Fd(fd[0]), Fd(fd[1])};
}

Result<SocketPair> MakeSocketPair() {
  int fd[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0) {
    return FailErrno("make a socket pair");
  }
  return SocketPair{Fd(fd[0]), Fd(fd[1])};
}

size_t MostDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);  // it has no reason to fail
  return limit.rlim_cur;
}

Status KeepOverExec(int fd) {
  if (fcntl(fd, F_SETFD, 0) == 0) return {};
  return Fail(ErrorKind::kIo, std::string(TextOfErrno(errno)));
}

Status SetNonBlocking(int fd, bool on) {
  int flags = fcntl(fd, F_GETFL);
  int wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
  if (flags < 0 || (flags != wanted && fcntl(fd, F_SETFL, wanted) != 0)) {
    return FailErrno("change how a descriptor waits");
  }
  return {};
}

Status WriteAll(int fd, std::string_view bytes, std::string_view name) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      WaitFor(fd, POLLOUT);
    } else if (errno != EINTR) {
      return FailErrno("write to", name);
    }
  }
  return {};
}

Status WriteAllAt(int fd, std::string_view bytes, uint64_t offset, std::string_view name) {
  while (!bytes.empty()) {
    ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
    } else if (errno != EINTR) {
      return FailErrno("write to", name);
    }
  }
  return {};
}

Result<size_t> ReadSome(int fd, char* to, size_t size, std::string_view name) {
  for (;;) {
    ssize_t n = read(fd, to, size);
    if (n >= 0) return static_cast<size_t>(n);
    if (errno != EINTR) return FailErrno("read", name);
  }
}

Result<std::string> ReadAt(int fd, uint64_t offset, size_t size, std::string_view name) {
  std::string text(size, '\0');
  size_t got = 0;
  while (got < size) {
    ssize_t n = pread(fd, text.data() + got, size - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno("read", name);
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  text.resize(got);
  return text;
}

Result<std::string> ReadToEnd(int fd, size_t limit, std::string_view name) {
  std::string text;
  size_t got = 0;
  struct stat info{};
  // Files of /proc and /sys say 0 and have more, hence the one byte to find the end by.
  size_t expected = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : 0;
  text.resize(std::min(limit, std::max<size_t>(expected, 4095)) + 1);
  for (;;) {
    ssize_t n = read(fd, text.data() + got, text.size() - got);
    if (n < 0 && errno == EAGAIN) {
      WaitFor(fd, POLLIN);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno("read", name);
    if (n == 0) break;
    got += static_cast<size_t>(n);
    if (got > limit) {
      return Fail(ErrorKind::kInvalid, fmt::format("'{}' is larger than {}, which is the limit",
                                                   EscapeForScreen(name), FormatSize(limit)));
    }
    if (got == text.size()) text.resize(std::min(limit + 1, text.size() * 2));
  }
  text.resize(got);
  return text;
}

bool WaitReadable(int fd, Duration patience) {
  pollfd polled{.fd = fd, .events = POLLIN, .revents = 0};
  timespec left{.tv_sec = patience.ns / 1'000'000'000, .tv_nsec = patience.ns % 1'000'000'000};
  return ppoll(&polled, 1, &left, nullptr) == 1;
}

Result<Pipe> MakeNamedPipe(const std::string& path) {
  if (mkfifo(path.c_str(), 0600) != 0) return FailErrno("make the pipe", path);
  Pipe pipe;
  pipe.read.Reset(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (pipe.read.valid()) pipe.write.Reset(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!pipe.write.valid()) return FailErrno("open the pipe", path);
  return pipe;
}

Result<size_t> ReadNow(int fd, char* to, size_t size) {
  for (;;) {
    ssize_t got = read(fd, to, size);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == EAGAIN) return 0;
    if (errno != EINTR) return FailErrno("read a pipe");
  }
}

}  // namespace spate::os
