#include "os/command.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "os/error.h"
#include "os/file.h"

namespace spate::os {
namespace {

constexpr size_t kCommandRead = 64 * 1024;
constexpr Duration kCommandLook = Duration::Millis(5);

// posix_spawnp knows our own PATH only. Empty: it is not there.
std::string FindProgram(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) return name;
  std::string path = environment.GetOr("PATH", "/usr/bin:/bin");
  for (size_t at = 0; at <= path.size();) {
    size_t end = std::min(path.find(':', at), path.size());
    std::string file = JoinPath(end == at ? "." : path.substr(at, end - at), name);
    auto info = Stat(file);
    if (info && info->kind == FileKind::kFile && MayAccess(file, "x")) return file;
    at = end + 1;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Command>> Command::Start(RealLoop& loop, Options options, Done done) {
  std::string program = FindProgram(options.argv.front(), options.environment);
  if (program.empty()) {
    return std::unexpected(SystemError(ENOENT, "start", options.argv.front()));
  }
  auto in = MakePipe(), out = MakePipe(), err = MakePipe();
  for (const auto* pipe : {&in, &out, &err}) {
    if (!*pipe) return std::unexpected(pipe->error());
  }
  for (int fd : {in->write.get(), out->read.get(), err->read.get()}) {
    TRY(SetNonBlocking(fd, true));
  }
  auto pid = TRY(SpawnChild({.argv = options.argv,
                             .environment = options.environment.entries(),
                             .in = in->read.get(),
                             .out = out->write.get(),
                             .err = err->write.get(),
                             .program = program,
                             .folder = options.folder,
                             .session = true}));
  Pipes pipes{std::move(in->write), std::move(out->read), std::move(err->read)};
  return std::unique_ptr<Command>(
      new Command(loop, pid, std::move(pipes), std::move(options), std::move(done)));
}

Command::Command(RealLoop& loop, Pid pid, Pipes pipes, Options options, Done done)
    : loop_(loop),
      pid_(pid),
      input_(loop, std::move(pipes.in), std::move(options.input)),
      out_{.fd = std::move(pipes.out), .most = options.most_out, .text = {}},
      err_{.fd = std::move(pipes.err), .most = options.most_err, .text = {}},
      done_(std::move(done)) {
  Watch(out_);
  Watch(err_);
  AwaitExit(options.pidfd);
  if (options.patience == Duration::Max()) return;
  timeout_ = loop_.At(loop_.Now() + options.patience, [this] { OnTimeout(); });
}

Command::~Command() {
  Close();
  if (pid_ == 0) return;
  kill(-pid_, SIGKILL);
  Reap(loop_, pid_);
}

void Command::Close() {
  if (pidfd_) loop_.Unwatch(pidfd_.get());
  for (Stream* stream : {&out_, &err_}) {
    if (stream->fd) loop_.Unwatch(stream->fd.get());
    stream->fd.Reset();
  }
  loop_.Cancel(exit_timer_);
  loop_.Cancel(timeout_);
}

void Command::Watch(Stream& stream) {
  loop_.WatchRead(stream.fd.get(), [this, &stream] { ReadOnce(stream); });
}

// The bytes that were there, 0 for none and at the end.
size_t Command::ReadOnce(Stream& stream) {
  char buffer[kCommandRead];
  ssize_t got = read(stream.fd.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (got <= 0) {
    loop_.Unwatch(stream.fd.get());
    stream.fd.Reset();
    return 0;
  }
  size_t size = static_cast<size_t>(got);
  size_t kept = std::min(size, stream.most - stream.text.size());
  stream.text.append(buffer, kept);
  stream.dropped += size - kept;
  return size;
}

// All output of the process is in the pipe once it has ended. Nothing further is awaited: other
// holders of the pipe may write without end.
void Command::ReadWhatIsThere(Stream& stream) {
  int there = 0;
  if (!stream.fd || ioctl(stream.fd.get(), FIONREAD, &there) != 0) return;
  for (size_t left = static_cast<size_t>(there); left > 0 && stream.fd;) {
    size_t got = ReadOnce(stream);
    if (got == 0) return;
    left -= std::min(left, got);
  }
}

void Command::AwaitExit(bool pidfd) {
  auto fd = pidfd ? PidfdOpen(pid_) : Fail(ErrorKind::kUnavailable, "");
  if (!fd) return LookAgain();
  pidfd_ = std::move(*fd);
  loop_.WatchRead(pidfd_.get(), [this] { OnExit(); });
}

void Command::LookAgain() {
  exit_timer_ = loop_.At(loop_.Now() + kCommandLook, [this] {
    LookAgain();
    OnExit();
  });
}

void Command::OnExit() {
  int status = 0;
  if (!HasExited(pid_, &status)) return;
  pid_ = 0;
  Ended ended;
  ended.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  End(std::move(ended));
}

// A process that hangs in the kernel does not go by SIGKILL, and nobody should wait for it.
void Command::OnTimeout() {
  kill(-pid_, SIGKILL);
  Reap(loop_, std::exchange(pid_, 0));
  Ended ended;
  ended.timed_out = true;
  End(std::move(ended));
}

void Command::End(Ended ended) {
  for (Stream* stream : {&out_, &err_}) ReadWhatIsThere(*stream);
  Close();
  ended.out = std::move(out_.text);
  ended.err = std::move(err_.text);
  ended.out_dropped = out_.dropped;
  ended.err_dropped = err_.dropped;
  auto done = std::move(done_);  // it may destroy this command
  done(std::move(ended));
}

}  // namespace spate::os
