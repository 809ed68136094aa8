// Facts in the journal about a job, next to its tasks: its requests, and why it is held. The
// engine provides the present state, and the records its wording.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/engine/record.h"
#include "store/history.h"

namespace spate::history {

struct LogFacts {
  JobPolicy policy;
  engine::HoldReason held = engine::HoldReason::kNone;
  Instant held_at;                          // 0: not known
  std::map<NodeId, std::string> set_aside;  // nodes that get nothing of the job, and why
  // Tasks cancelled by somebody, or by a job that they waited for; the newest last. Tasks that only
  // left their list are not included.
  struct Cancelled {
    std::vector<TaskRange> tasks;          // empty: the job
    std::string reason;                    // in words
    std::optional<TaskIndex> parent = {};  // or because this task did not succeed
  };
  std::vector<Cancelled> cancelled;
  // Why a cancelled task is; null: it has left its list.
  const Cancelled* WhyCancelled(TaskIndex index) const;
  // The needs of a task; null when the journal does not have them.
  const TaskClass* ClassOf(TaskIndex index) const;
  const Needs* NeedsOf(TaskIndex index) const;

  std::shared_ptr<const store::JobReplay> replay;
};
Result<LogFacts> ReadLog(store::JobJournal& history);

}  // namespace spate::history
