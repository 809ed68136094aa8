#include "os/piped_process.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/spawn_child.h"

namespace spate::os {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
constexpr Duration kLookAgain = Duration::Millis(20);

}  // namespace

Result<std::unique_ptr<PipedProcess>> PipedProcess::Start(
    RealLoop& loop, const std::vector<std::string>& argv,
    const std::vector<std::string>& environment, Events events) {
  auto in = MakePipe();
  auto out = MakePipe();
  auto err = MakePipe();
  for (const Result<Pipe>* pipe : {&in, &out, &err}) {
    if (!*pipe) return std::unexpected(pipe->error());
  }
  for (int fd : {in->write.get(), out->read.get(), err->read.get()}) {
    TRY(SetNonBlocking(fd, true));
  }
  Spawn spawn{.argv = argv,
              .environment = environment,
              .in = in->read.get(),
              .out = out->write.get(),
              .err = err->write.get(),
              .program = {},
              .folder = {},
              .session = true};
  auto pid = TRY(SpawnChild(spawn));
  Pipes pipes{std::move(in->write), std::move(out->read), std::move(err->read)};
  return std::unique_ptr<PipedProcess>(
      new PipedProcess(loop, pid, std::move(pipes), std::move(events)));
}

PipedProcess::PipedProcess(RealLoop& loop, Pid pid, Pipes pipes, Events events)
    : loop_(loop),
      pid_(pid),
      in_(std::move(pipes.in)),
      out_{std::move(pipes.out), std::move(pipes.err)},
      events_(std::move(events)) {
  WatchOutput();
  AwaitExit();
}

PipedProcess::~PipedProcess() {
  CloseInputNow();
  for (int stream : {1, 2}) CloseOutput(stream);
  if (pidfd_) loop_.Unwatch(pidfd_.get());
  loop_.Cancel(timer_);
  loop_.Cancel(grace_);
  if (pid_ == 0) return;
  kill(-pid_, SIGKILL);
  Reap(loop_, pid_);
}

// ------------------------------------------------------------------------------------------ input

void PipedProcess::Write(std::string_view bytes) {
  if (!in_) return events_.input_gone(bytes.size());
  input_ += bytes;
  OnWritable();
}

void PipedProcess::CloseInput() {
  input_ends_ = true;
  if (input_.empty()) CloseInputNow();
}

void PipedProcess::OnWritable() {
  size_t gone = 0;
  while (gone < input_.size()) {
    ssize_t written = write(in_.get(), input_.data() + gone, input_.size() - gone);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno != EAGAIN) {
      gone = input_.size();
      input_ends_ = true;
    }
    if (written < 0) break;
    gone += static_cast<size_t>(written);
  }
  input_.erase(0, gone);
  if (!input_.empty() && !std::exchange(writes_, true)) {
    loop_.WatchWrite(in_.get(), [this] { OnWritable(); });
  } else if (input_.empty() && std::exchange(writes_, false)) {
    loop_.Unwatch(in_.get());
  }
  if (input_.empty() && input_ends_) CloseInputNow();
  if (gone > 0) events_.input_gone(gone);
}

void PipedProcess::CloseInputNow() {
  if (!in_) return;
  loop_.Unwatch(in_.get());
  in_.Reset();
  input_.clear();
}

// ----------------------------------------------------------------------------------------- output

void PipedProcess::PauseOutput(bool paused) {
  if (paused == std::exchange(paused_, paused)) return;
  WatchOutput();
}

void PipedProcess::WatchOutput() {
  for (int stream : {1, 2}) {
    const Fd& fd = out_[static_cast<size_t>(stream - 1)];
    if (!fd) continue;
    if (paused_) {
      loop_.UnwatchRead(fd.get());
    } else {
      loop_.WatchRead(fd.get(), [this, stream] { OnReadable(stream); });
    }
  }
}

void PipedProcess::OnReadable(int stream) {
  char buffer[kReadBytes];
  ssize_t got = read(out_[static_cast<size_t>(stream - 1)].get(), buffer, sizeof(buffer));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) return events_.output(stream, {buffer, static_cast<size_t>(got)});
  CloseOutput(stream);
  EndIfDone();
}

void PipedProcess::CloseOutput(int stream) {
  Fd& fd = out_[static_cast<size_t>(stream - 1)];
  if (!fd) return;
  loop_.Unwatch(fd.get());
  fd.Reset();
}

// -------------------------------------------------------------------------------------------- end

void PipedProcess::Signal(int signo) {
  if (pid_ != 0) kill(-pid_, signo);
}

void PipedProcess::Abandon(Duration grace) {
  if (std::exchange(abandoned_, true)) return;
  CloseInputNow();
  for (int stream : {1, 2}) CloseOutput(stream);
  Signal(SIGTERM);
  grace_ = loop_.At(loop_.Now() + grace, [this] { Signal(SIGKILL); });
  loop_.Post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) EndIfDone();
  });
}

void PipedProcess::AwaitExit() {
  auto fd = PidfdOpen(pid_);
  if (!fd) return LookAgain();
  pidfd_ = std::move(*fd);
  loop_.WatchRead(pidfd_.get(), [this] { OnExit(); });
}

void PipedProcess::LookAgain() {
  timer_ = loop_.At(loop_.Now() + kLookAgain, [this] {
    LookAgain();
    OnExit();
  });
}

// Its group has its number for as long as it was not waited for. (Without a pidfd nobody knows here
// whether it has ended yet.)
void PipedProcess::OnExit() {
  if (abandoned_ && pidfd_) Signal(SIGKILL);
  int status = 0;
  if (pid_ == 0 || !HasExited(pid_, &status)) return;
  pid_ = 0;
  status_ = status;
  if (pidfd_) loop_.Unwatch(pidfd_.get());
  loop_.Cancel(timer_);
  loop_.Cancel(grace_);
  EndIfDone();
}

void PipedProcess::EndIfDone() {
  if (!status_ || out_[0] || out_[1]) return;
  auto ended = std::move(events_.ended);  // it may destroy this
  if (ended) ended(*status_);
}

}  // namespace spate::os
