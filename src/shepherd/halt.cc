#include "shepherd/halt.h"

#include <signal.h>

#include "os/process.h"

namespace spate::shepherd {

void Halt::Begin() {
  frozen_ = false;
  still_before_ = {};
}

Duration Halt::FrozenFor(int64_t now) const {
  return still_before_ + Duration{is_on() ? now - still_since_ : 0};
}

void Halt::Set(bool paused, bool frozen, int64_t now) {
  still_before_ = FrozenFor(now);
  still_since_ = now;
  paused_ = paused;
  frozen_ = frozen;
}

void Halt::SetPaused(bool paused, bool has_processes, int64_t now) {
  Set(paused, frozen_, now);
  if (has_processes) Signal();
}

void Halt::SetFrozen(bool frozen, int64_t now) {
  if (frozen == frozen_) return;
  Set(paused_, frozen, now);
  if (!frozen && cgroup_.is_frozen()) {
    cgroup_.Thaw();
  } else if (!frozen || !cgroup_.Freeze()) {
    Signal();
  }
}

bool Halt::StandsStill() {
  if (cgroup_.is_frozen()) return cgroup_.StandsStill();
  Signal();
  bool still = true;
  const bool told = tree_.Each([&](pid_t pid) {
    auto info = os::InfoOf(pid);
    constexpr std::string_view kStill = "TtZX";  // stopped, traced, dead
    still &= !info || kStill.find(info->state) != kStill.npos;
  });
  return told && still;
}

void Halt::Signal() {
  int signal = paused_ || (frozen_ && !cgroup_.is_frozen()) ? SIGSTOP : SIGCONT;
  if (tree_.SignalAll(signal) < 0 && commands_.group() > 1 && commands_.alive() > 0) {
    kill(-commands_.group(), signal);
  }
}

}  // namespace spate::shepherd
