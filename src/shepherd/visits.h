// Visits to the attempt in hand: servers of `spate exec` (remote/visit.h), which are children of
// the shepherd without being the task's. Nothing of them is waited for, counted or stopped with the
// task; with its end they end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "core/model/visit.h"
#include "os/fd.h"
#include "shepherd/process_tree.h"
#include "shepherd/spawn.h"

namespace spate::shepherd {

class Visits {
 public:
  static constexpr size_t kMost = 16;  // at once

  // Spares them in the tree.
  explicit Visits(ProcessTree& tree) : tree_(tree) {}

  // `like` is a command of the attempt, whose user, environment, processors and limits the visit
  // has. kBusy: there are kMost.
  Status Open(const OpenVisit& visit, Program like, Starter& starter);
  bool any() const { return !visits_.empty(); }
  // Their servers, and all that runs below these.
  std::vector<pid_t> Processes() const;
  // True if it was one; whoever calls has waited for it, or does.
  bool Ended(pid_t pid);
  // Waits for those that have ended.
  void Reap();
  // The task has ended: they are told, and killed when they stay.
  void End(int64_t now);
  // When to call KillLate; INT64_MAX: never.
  int64_t until() const { return until_; }
  void KillLate();

 private:
  struct Visit {
    pid_t pid;
    os::Fd order;  // our end; closed when the task has ended
  };
  ProcessTree& tree_;
  std::vector<Visit> visits_;
  std::unordered_set<pid_t> late_;  // that were killed below servers, and come to this process
  int64_t until_ = INT64_MAX;
};

}  // namespace spate::shepherd
