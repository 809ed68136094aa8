#include "os/child.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/environment.h"

namespace spate::os {
namespace {

constexpr size_t kChildRead = 64 * 1024;

}  // namespace

Result<std::unique_ptr<Child>> Child::Start(RealLoop& loop, const std::vector<std::string>& argv,
                                            std::string input, Events events, Errors errors,
                                            Ends ends) {
  auto in = TRY(MakePipe());
  auto out = TRY(MakePipe());
  Spawn spawn{.argv = argv, .environment = Environment::OfProcess().entries()};
  spawn.in = in.read.get();
  spawn.out = out.write.get();
  if (errors == Errors::kOutput) spawn.err = out.write.get();
  spawn.session = ends == Ends::kByItself;
  auto pid = TRY(SpawnChild(spawn));
  for (int fd : {in.write.get(), out.read.get()}) {
    TRY(SetNonBlocking(fd, true));
  }
  return std::unique_ptr<Child>(new Child(loop, pid, std::move(in.write), std::move(out.read),
                                          std::move(input), std::move(events), ends));
}

Child::Child(RealLoop& loop, Pid pid, Fd in, Fd out, std::string input, Events events, Ends ends)
    : loop_(loop),
      pid_(pid),
      input_(loop, std::move(in), std::move(input)),
      out_(std::move(out)),
      events_(std::move(events)),
      ends_(ends) {
  Watch();
}

Child::~Child() {
  if (out_) loop_.Unwatch(out_.get());
  loop_.Cancel(timer_);
  if (pid_ == 0 || ends_ == Ends::kByItself) return;
  kill(pid_, SIGKILL);
  Reap(loop_, pid_);
}

void Child::Signal(int signo) {
  if (pid_ != 0) kill(pid_, signo);
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

void Child::OnReadable() {
  char buffer[kChildRead];
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
