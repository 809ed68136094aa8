// What the journal tells of a job beside its tasks: what was asked for, and why it is held. The
// engine says what holds now, and the records in what words.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/engine/record.h"
#include "store/sqlite/history.h"

namespace spate::history {

struct LogFacts {
  JobPolicy policy;
  engine::HoldReason held = engine::HoldReason::kNone;
  Instant held_at;                          // 0: not known
  std::map<NodeId, std::string> set_aside;  // nodes that get nothing of the job, and why
  // What somebody cancelled, or a job that it waited for; the newest last. What has only left its
  // list is not among it.
  struct Cancelled {
    std::vector<TaskRange> tasks;          // empty: the job
    std::string reason;                    // in words
    std::optional<TaskIndex> parent = {};  // or because this task did not succeed
  };
  std::vector<Cancelled> cancelled;
  // Why a cancelled task is; null: it has left its list.
  const Cancelled* WhyCancelled(TaskIndex index) const;
  // What a task asks for; null when the journal does not tell.
  const TaskClass* ClassOf(TaskIndex index) const;
  const Needs* NeedsOf(TaskIndex index) const;

  std::shared_ptr<const store::JobReplay> replay;
};
Result<LogFacts> ReadLog(store::History& history);

}  // namespace spate::history
