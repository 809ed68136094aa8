// Stops the processes of an attempt where they are, and lets them go on: all attempts for a while
// (Ctrl-Z of `spate run`), or this one, which is frozen.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "os/cgroup.h"
#include "shepherd/commands.h"
#include "shepherd/process_tree.h"

namespace spate::shepherd {

class Halt {
 public:
  Halt(ProcessTree& tree, os::Cgroup& cgroup, const Commands& commands)
      : tree_(tree), cgroup_(cgroup), commands_(commands) {}

  // Begins a fresh attempt.
  void Begin();
  // Nothing of the attempt is to be started.
  bool is_on() const { return paused_ || frozen_; }
  bool is_frozen() const { return frozen_; }
  // So long in all the attempt was frozen or paused.
  Duration FrozenFor(int64_t now) const;
  // All its processes stand still, as SetFrozen has asked. Where there is no cgroup, those that
  // were born meanwhile are stopped, too.
  bool StandsStill();

  // Its processes, if there are any, follow at once.
  void SetPaused(bool paused, bool has_processes, int64_t now);
  // By the slot's cgroup, which nobody escapes and nobody notices; else by STOP and CONT.
  void SetFrozen(bool frozen, int64_t now);

 private:
  void Signal();
  void Set(bool paused, bool frozen, int64_t now);

  ProcessTree& tree_;
  os::Cgroup& cgroup_;
  const Commands& commands_;
  bool paused_ = false;
  bool frozen_ = false;
  int64_t still_since_ = 0;
  Duration still_before_;
};

}  // namespace spate::shepherd
