#include "os/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "os/error.h"

namespace spate::os {
namespace {

constexpr size_t kChildRead = 64 * 1024;
constexpr Duration kChildLook = Duration::Millis(5);
constexpr int kPassedOn[] = {SIGUSR1, SIGUSR2};
constexpr size_t kInput = 0;

}  // namespace

Result<std::unique_ptr<Child>> Child::Start(RealLoop& loop, Options options, Events events) {
  if (options.pipes == Pipes::kTerminal) options.spawn.session = true;
  std::unique_ptr<Child> child(new Child(loop, options, std::move(events)));
  std::array<Fd, 3> theirs;
  const size_t pipes = child->joined_ || child->terminal_ ? 0
                       : options.pipes == Pipes::kAll     ? 3
                                                          : 2;
  for (size_t i = 0; i < pipes; ++i) {
    auto pipe = TRY(MakePipe());
    child->fds_[i] = std::move(i == kInput ? pipe.write : pipe.read);
    theirs[i] = std::move(i == kInput ? pipe.read : pipe.write);
    TRY(SetNonBlocking(child->fds_[i].get(), true));
  }
  Spawn& spawn = options.spawn;
  if (theirs[0]) spawn.in = theirs[0].get();
  if (theirs[1]) spawn.out = theirs[1].get();
  if (options.pipes == Pipes::kOneText) spawn.err = spawn.out;
  if (theirs[2]) spawn.err = theirs[2].get();
  if (child->terminal_) {
    auto pair = TRY(MakeTerminal(options.window));
    theirs[0] = std::move(pair.terminal);  // open until the child has it
    child->fds_[kInput].Reset(fcntl(pair.master.get(), F_DUPFD_CLOEXEC, 0));
    if (!child->fds_[kInput]) return FailErrno("duplicate a descriptor");
    child->fds_[1] = std::move(pair.master);
    spawn.terminal = pair.path;
  }
  child->pid_ = TRY(SpawnChild(spawn));
  child->Begin(std::move(options.input));
  return child;
}

Child::Child(RealLoop& loop, const Options& options, Events events)
    : loop_(loop),
      group_(options.spawn.session),
      outlives_us_(options.outlives_us || options.pipes == Pipes::kNone),
      ends_at_exit_(options.ends_at_exit),
      joined_(options.pipes == Pipes::kNone),
      terminal_(options.pipes == Pipes::kTerminal),
      pidfd_wanted_(options.pidfd),
      events_(std::make_shared<Events>(std::move(events))) {}

void Child::Begin(std::optional<std::string> input) {
  if (joined_) {
    for (int signo : kPassedOn) loop_.OnSignal(signo, [this, signo] { Signal(signo); });
  }
  WatchOutput();
  AwaitExit();
  if (!input) return;
  input_ = std::move(*input);
  CloseInput();
}

Child::~Child() {
  for (int stream : {0, 1, 2}) Close(stream);
  if (pidfd_) loop_.Unwatch(pidfd_.get());
  loop_.Cancel(timer_);
  loop_.Cancel(grace_);
  if (joined_ && (pid_ != 0 || status_)) {
    for (int signo : kPassedOn) loop_.OnSignal(signo, [] {});
  }
  if (pid_ == 0 || outlives_us_) return;
  Signal(SIGKILL);
  Reap(loop_, pid_);
}

void Child::Close(int stream) {
  Fd& fd = fds_[static_cast<size_t>(stream)];
  if (!fd) return;
  loop_.Unwatch(fd.get());
  fd.Reset();
}

// ------------------------------------------------------------------------------------------ input

void Child::Write(std::string_view bytes) {
  if (!fds_[kInput]) {
    if (events_->input_gone) events_->input_gone(bytes.size());
    return;
  }
  input_ += bytes;
  OnWritable();
}

// A terminal has no end but the key for it.
void Child::CloseInput() {
  constexpr char kEndOfInput = 4;
  if (terminal_) return Write({&kEndOfInput, 1});
  input_ends_ = true;
  if (fds_[kInput]) OnWritable();
}

void Child::OnWritable() {
  const size_t before = sent_;
  while (sent_ < input_.size()) {
    ssize_t written = write(fds_[kInput].get(), input_.data() + sent_, input_.size() - sent_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) break;
    // A child that wants no more of its input is as good as one that has it all.
    if (written < 0) input_ends_ = true;
    sent_ = written < 0 ? input_.size() : sent_ + static_cast<size_t>(written);
  }
  const size_t gone = sent_ - before;
  const bool waits = sent_ < input_.size();
  if (!waits || sent_ > input_.size() / 2) input_.erase(0, std::exchange(sent_, 0));
  if (waits && !std::exchange(writes_, true)) {
    loop_.WatchWrite(fds_[kInput].get(), [this] { OnWritable(); });
  } else if (!waits && std::exchange(writes_, false)) {
    loop_.Unwatch(fds_[kInput].get());
  }
  if (!waits && input_ends_) Close(kInput);
  if (gone > 0 && events_->input_gone) events_->input_gone(gone);
}

// ----------------------------------------------------------------------------------------- output

void Child::Pause(bool paused) {
  if (paused != std::exchange(paused_, paused)) WatchOutput();
}

void Child::WatchOutput() {
  for (int stream : {1, 2}) {
    const Fd& fd = fds_[static_cast<size_t>(stream)];
    if (!fd) continue;
    if (paused_) {
      loop_.UnwatchRead(fd.get());
    } else {
      loop_.WatchRead(fd.get(), [this, stream] { OnReadable(stream); });
    }
  }
}

// The bytes that were there; 0 for none and at the end. This may be gone afterwards.
size_t Child::OnReadable(int stream) {
  char buffer[kChildRead];
  ssize_t got = read(fds_[static_cast<size_t>(stream)].get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (got > 0) {
    auto events = events_;
    if (events->output) events->output(stream, {buffer, static_cast<size_t>(got)});
    return static_cast<size_t>(got);
  }
  Close(stream);
  EndIfDone();
  return 0;
}

// Other holders of a pipe may write without end.
void Child::ReadWhatIsThere() {
  const std::weak_ptr<Events> alive = events_;
  for (int stream : {1, 2}) {
    int there = 0;
    const Fd& fd = fds_[static_cast<size_t>(stream)];
    if (!fd || ioctl(fd.get(), FIONREAD, &there) != 0) continue;
    for (size_t left = static_cast<size_t>(there); left > 0;) {
      const size_t got = OnReadable(stream);
      if (got == 0) break;
      if (alive.expired()) return;
      left -= std::min(left, got);
    }
  }
}

// -------------------------------------------------------------------------------------------- end

void Child::Resize(WindowSize window) {
  if (terminal_ && fds_[1]) SetWindow(fds_[1].get(), window);
}

void Child::Signal(int signo) {
  if (pid_ != 0) kill(group_ ? -pid_ : pid_, signo);
}

void Child::Abandon(Duration grace) {
  if (std::exchange(abandoned_, true)) return;
  for (int stream : {0, 1, 2}) Close(stream);
  Signal(SIGTERM);
  grace_ = loop_.At(loop_.Now() + grace, [this] { Signal(SIGKILL); });
  loop_.Post([this, alive = std::weak_ptr<Events>(events_)] {
    if (!alive.expired()) EndIfDone();
  });
}

void Child::AwaitExit() {
  auto fd = pidfd_wanted_ ? PidfdOpen(pid_) : Fail(ErrorKind::kUnavailable, "");
  if (!fd) return LookAgain();
  pidfd_ = std::move(*fd);
  loop_.WatchRead(pidfd_.get(), [this] { OnExit(); });
}

void Child::LookAgain() {
  timer_ = loop_.At(loop_.Now() + kChildLook, [this] {
    LookAgain();
    OnExit();
  });
}

// Its group has its number for as long as it was not waited for. (Without a pidfd nobody knows here
// whether it has ended yet.)
void Child::OnExit() {
  if (abandoned_ && pidfd_) Signal(SIGKILL);
  int status = 0;
  if (pid_ == 0 || !HasExited(pid_, &status)) return;
  pid_ = 0;
  if (pidfd_) loop_.Unwatch(pidfd_.get());
  loop_.Cancel(timer_);
  loop_.Cancel(grace_);
  if (ends_at_exit_) {
    const std::weak_ptr<Events> alive = events_;
    ReadWhatIsThere();  // all its output is in the pipes
    if (alive.expired()) return;
    for (int stream : {0, 1, 2}) Close(stream);
  }
  status_ = status;
  EndIfDone();
}

void Child::EndIfDone() {
  if (!status_ || fds_[1] || fds_[2]) return;
  auto ended = std::exchange(events_->ended, nullptr);  // it may destroy this
  if (ended) ended(*status_);
}

}  // namespace spate::os
