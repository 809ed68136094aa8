// Ends all that is below this process, in rounds, and tells what that was.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/model/attempt.h"
#include "os/cgroup.h"
#include "shepherd/process_tree.h"

namespace spate::shepherd {

class TreeKiller {
 public:
  TreeKiller(ProcessTree& tree, os::Cgroup& cgroup) : tree_(tree), cgroup_(cgroup) {}

  // Begins a fresh attempt.
  void Begin();
  // Processes that are killed from now on have outlived the commands: they are counted, and named.
  void CountLeftovers(bool on) { counts_ = on; }
  void NameLeftovers();
  // Names these alone; `others_told`: the note has the others already.
  void NameLeftovers(std::vector<std::string> names, bool others_told);
  // A child that was none of the commands has ended.
  void Ended(int wait_status);

  // The first round comes now. `group` is the process group of the commands, 0 when none of them
  // runs.
  void Start(int64_t now) { since_ = now; }
  // `reap` takes the children that are dead, and says whether there are others. Waits for those it
  // has killed, a moment in the first round. When to go on; 0: there is nobody left.
  int64_t Round(int64_t now, pid_t group, const std::function<bool(int64_t)>& reap);
  int64_t since() const { return since_; }
  // Some do not die (their disk or server hangs), however long we wait.
  bool IsHopeless(int64_t now) const;
  // Notes who they are.
  void TellSurvivors(AttemptEnd& end);
  // At the attempt's end: what was left behind.
  void AddTo(AttemptEnd& end);

  // Lets time pass until a child has changed or `nanos` are over.
  static void AwaitChild(int64_t nanos);

  // All at once, and by all means; for the end of the shepherd. False when some would not die
  // within `patience` nanoseconds.
  bool KillAll(int64_t patience, pid_t group);

 private:
  void KillGroups(pid_t group);
  void SetPrecedence(bool on);

  ProcessTree& tree_;
  os::Cgroup& cgroup_;
  bool precedence_ = false;
  int64_t since_ = 0;
  int rounds_ = 0;
  bool counts_ = false;
  uint32_t left_behind_ = 0;
  std::vector<std::string> names_;  // of those, "sleep (pid 12)"
  bool others_told_ = false;
};

}  // namespace spate::shepherd
