#include "os/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/environment.h"
#include "os/error.h"

namespace spate::os {
namespace {

constexpr size_t kReadBytes = 64 * 1024;

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool HasExited(Pid pid, int* status) {
  pid_t reaped;
  do {
    reaped = waitpid(pid, status, WNOHANG);
  } while (reaped < 0 && errno == EINTR);
  return reaped != 0;
}

// A killed process is gone soon, but for one that hangs in the kernel, which nobody should wait
// for.
void Reap(RealLoop& loop, Pid pid) {
  constexpr Duration kLookAgain = Duration::Millis(50);
  if (HasExited(pid, nullptr)) return;
  loop.At(loop.Now() + kLookAgain, [&loop, pid] { Reap(loop, pid); });
}

// Signals that a daemon ignores or blocks are the child's again.
void SetSignals(posix_spawnattr_t& attributes) {
  sigset_t all, none;
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

}  // namespace

Result<std::unique_ptr<Child>> Child::Start(RealLoop& loop, const std::vector<std::string>& argv,
                                            std::string input, Events events, Errors errors) {
  auto in = MakePipe();
  if (!in) return std::unexpected(in.error());
  auto out = MakePipe();
  if (!out) return std::unexpected(out.error());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in->read.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, out->write.get(), 1);
  if (errors == Errors::kOutput) posix_spawn_file_actions_adddup2(&actions, out->write.get(), 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  SetSignals(attributes);
  std::vector<std::string> variables = Environment::OfProcess().entries();
  pid_t pid = 0;
  int error = posix_spawnp(&pid, argv.front().c_str(), &actions, &attributes, Pointers(argv).data(),
                           Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return std::unexpected(SystemError(error, "start", argv.front()));
  }
  for (int fd : {in->write.get(), out->read.get()}) {
    if (auto set = SetNonBlocking(fd, true); !set) return std::unexpected(set.error());
  }
  return std::unique_ptr<Child>(new Child(loop, pid, std::move(in->write), std::move(out->read),
                                          std::move(input), std::move(events)));
}

Child::Child(RealLoop& loop, Pid pid, Fd in, Fd out, std::string input, Events events)
    : loop_(loop),
      pid_(pid),
      in_(std::move(in)),
      out_(std::move(out)),
      input_(std::move(input)),
      events_(std::move(events)) {
  Watch();
  loop_.WatchWrite(in_.get(), [this] { OnWritable(); });
}

Child::~Child() {
  if (in_) loop_.Unwatch(in_.get());
  if (out_) loop_.Unwatch(out_.get());
  loop_.Cancel(timer_);
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  Reap(loop_, pid_);
}

void Child::Pause(bool paused) {
  if (paused_ == paused) return;
  paused_ = paused;
  if (!out_) return;
  if (paused) {
    loop_.Unwatch(out_.get());
  } else {
    Watch();
  }
}

void Child::Watch() {
  loop_.WatchRead(out_.get(), [this] { OnReadable(); });
}

void Child::OnWritable() {
  ssize_t written = write(in_.get(), input_.data() + sent_, input_.size() - sent_);
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (written > 0) sent_ += static_cast<size_t>(written);
  // A child that wants no more of its input is as good as one that has it all.
  if (written < 0 || sent_ == input_.size()) {
    loop_.Unwatch(in_.get());
    in_.Reset();
  }
}

void Child::OnReadable() {
  char buffer[kReadBytes];
  ssize_t got = read(out_.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) {
    auto output = events_.output;  // it may destroy this child
    return output({buffer, static_cast<size_t>(got)});
  }
  loop_.Unwatch(out_.get());
  out_.Reset();
  if (events_.exited) return AwaitExit();
  auto ended = events_.ended;
  ended();
}

// A child that has closed its output ends at once, as a rule.
void Child::AwaitExit() {
  constexpr Duration kLookAgain = Duration::Millis(2);
  int status = 0;
  if (!HasExited(pid_, &status)) {
    timer_ = loop_.At(loop_.Now() + kLookAgain, [this] { AwaitExit(); });
    return;
  }
  pid_ = 0;
  auto exited = events_.exited;
  exited(status);
}

}  // namespace spate::os
