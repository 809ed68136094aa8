#include "os/joined_process.h"

#include <signal.h>

#include <utility>

#include "os/environment.h"

namespace spate::os {
namespace {

constexpr Duration kJoinedLook = Duration::Millis(20);
constexpr int kPassedOn[] = {SIGUSR1, SIGUSR2};

}  // namespace

Result<std::unique_ptr<JoinedProcess>> JoinedProcess::Start(
    RealLoop& loop, const std::vector<std::string>& argv,
    std::function<void(int wait_status)> ended) {
  Spawn spawn;
  spawn.argv = argv;
  spawn.environment = Environment::OfProcess().entries();
  return Start(loop, spawn, std::move(ended));
}

Result<std::unique_ptr<JoinedProcess>> JoinedProcess::Start(
    RealLoop& loop, const Spawn& spawn, std::function<void(int wait_status)> ended) {
  auto pid = TRY(SpawnChild(spawn));
  return std::unique_ptr<JoinedProcess>(new JoinedProcess(loop, pid, std::move(ended)));
}

JoinedProcess::JoinedProcess(RealLoop& loop, Pid pid, std::function<void(int)> ended)
    : loop_(loop), pid_(pid), ended_(std::move(ended)) {
  for (int signo : kPassedOn) {
    loop_.OnSignal(signo, [this, signo] {
      if (pid_ != 0) kill(pid_, signo);
    });
  }
  auto fd = PidfdOpen(pid_);
  if (!fd) {
    LookAgain();
    return;
  }
  pidfd_ = std::move(*fd);
  loop_.WatchRead(pidfd_.get(), [this] { OnExit(); });
}

JoinedProcess::~JoinedProcess() {
  for (int signo : kPassedOn) loop_.OnSignal(signo, [] {});
  if (pidfd_) loop_.Unwatch(pidfd_.get());
  loop_.Cancel(timer_);
}

void JoinedProcess::LookAgain() {
  timer_ = loop_.At(loop_.Now() + kJoinedLook, [this] {
    LookAgain();
    OnExit();
  });
}

void JoinedProcess::OnExit() {
  int status = 0;
  if (pid_ == 0 || !HasExited(pid_, &status)) return;
  pid_ = 0;
  if (pidfd_) loop_.Unwatch(pidfd_.get());
  loop_.Cancel(timer_);
  ended_(status);
}

}  // namespace spate::os
