#include "os/process_group.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "os/clock.h"
#include "os/error.h"
#include "os/fd.h"

namespace spate::os {
namespace {

// Nobody tells when the last of a group has gone.
void Nap() { (void)WaitReadable(-1, Duration::Millis(5)); }

}  // namespace

Result<ProcessGroup> ProcessGroup::Start(const std::string& program) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  std::string name = program;
  char* argv[] = {name.data(), nullptr};
  pid_t pid = 0;
  int error = posix_spawnp(&pid, program.c_str(), &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    errno = error;
    return FailErrno("start", program);
  }
  return ProcessGroup(pid);
}

// It stays a zombie until End, so that nobody else's group gets its number.
std::optional<int> ProcessGroup::Wait(Duration patience) {
  const int64_t until = MonotonicNanos() + patience.ns;
  for (;;) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(leader_), &info, WEXITED | WNOWAIT | WNOHANG) != 0)
      return 0;
    if (info.si_pid == leader_) {
      return info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
    }
    if (MonotonicNanos() >= until) return std::nullopt;
    Nap();
  }
}

void ProcessGroup::End(Duration grace) {
  // Waits; true if nobody is left within that time.
  auto ends = [this](Duration patience) {
    const int64_t until = MonotonicNanos() + patience.ns;
    for (;; Nap()) {
      while (waitpid(-leader_, nullptr, WNOHANG) > 0) {
      }
      if (kill(-leader_, 0) != 0) return true;
      if (MonotonicNanos() >= until) return false;
    }
  };
  if (ends({})) return;
  kill(-leader_, SIGTERM);
  if (ends(grace)) return;
  kill(-leader_, SIGKILL);
  (void)ends(Duration::Seconds(1));
}

}  // namespace spate::os
