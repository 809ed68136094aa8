#include "os/process_group.h"

#include <sys/wait.h>

#include <csignal>

#include "os/clock.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/spawn_child.h"
#include "os/terminal.h"

namespace spate::os {
namespace {

// Nobody tells when the last of a group has gone.
void Nap() { (void)WaitReadable(-1, Duration::Millis(5)); }

}  // namespace

Result<ProcessGroup> ProcessGroup::Start(const std::string& program) {
  auto null = TRY(OpenRead("/dev/null"));
  const Spawn spawn{
      .argv = {program}, .in = null.get(), .out = kStderr, .group = true, .close_others = true};
  auto pid = TRY(SpawnChild(spawn));
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
