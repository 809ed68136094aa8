#include "shepherd/halt.h"

#include <signal.h>

namespace spate::shepherd {

void Halt::Begin() {
  frozen_ = false;
  frozen_before_ = {};
}

Duration Halt::FrozenFor(int64_t now) const {
  return frozen_before_ + Duration{frozen_ ? now - frozen_since_ : 0};
}

void Halt::SetPaused(bool paused, bool has_processes) {
  paused_ = paused;
  if (has_processes) Signal();
}

void Halt::SetFrozen(bool frozen, int64_t now) {
  if (frozen == frozen_) return;
  if (!frozen) frozen_before_ = FrozenFor(now);
  frozen_since_ = now;
  frozen_ = frozen;
  if (!frozen && cgroup_.is_frozen()) {
    cgroup_.Thaw();
  } else if (!frozen || !cgroup_.Freeze()) {
    Signal();
  }
}

void Halt::Signal() {
  int signal = paused_ || (frozen_ && !cgroup_.is_frozen()) ? SIGSTOP : SIGCONT;
  if (tree_.SignalAll(signal) < 0 && commands_.group() > 1 && commands_.alive() > 0) {
    kill(-commands_.group(), signal);
  }
}

}  // namespace spate::shepherd
