// TaskBook: what the durable records say of every task, by the simplest rules that can be written
// down. It shares no code with the engine: the checkers compare the two.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/engine/record.h"
#include "core/model/job.h"

namespace spate::sim {

struct BookedTask {
  TaskState state = TaskState::kQueued;
  Attempt attempt;          // the newest that was leased; 0: none
  NodeId node;              // that it was leased to; of a gang the first one
  uint32_t reopened = 0;    // how often; what follows counts from the last time
  uint32_t executions = 0;  // attempts that began to run (told by check_repeats)
  uint32_t tries = 0;       // attempts that counted
  std::optional<engine::AttemptEnded> last_end;
  bool given_back = false;  // the newest attempt was returned unstarted
  bool cancelled = false;   // while it was leased
  bool left_list = false;   // its job's counts leave it out
  // Parts of a gang, as last leased; and those of its nodes whose parts have not ended.
  std::vector<engine::GangLeased::Part> gang = {};
  std::set<NodeId> parts_left = {};

  bool IsLeased(Attempt number, NodeId to) const {
    if (state != TaskState::kLeased || attempt != number) return false;
    return gang.empty() ? node == to : parts_left.contains(to);
  }
  // A part of that attempt was leased to the node, whatever became of it.
  bool HasPart(Attempt number, NodeId on) const {
    return attempt == number &&
           std::ranges::any_of(
               gang, [on](const engine::GangLeased::Part& part) { return part.node == on; });
  }
};

struct BookedJob {
  std::vector<BookedTask> tasks;
  std::map<TaskIndex, std::vector<TaskIndex>> parents = {};  // of tasks with any
  std::vector<TaskClass> requests;
  std::vector<RequestRun> runs;
  JobPolicy policy;
  bool open = false;
  bool finished = false;
  bool held = false;
  bool cancelled = false;
  bool stopped = false;                    // as a whole
  std::set<TaskIndex> stopped_tasks = {};  // by themselves
  Attempt last_success = {};               // the highest number of an attempt that succeeded

  const TaskClass& ClassOf(TaskIndex index) const;
  JobCounts Counts() const;
};

class TaskBook {
 public:
  // False when the record contradicts those before it.
  bool Enter(const engine::Record& record);

  BookedJob* FindJob(JobId id);
  BookedTask* Find(const AttemptRef& ref);
  std::map<JobId, BookedJob>& jobs() { return jobs_; }

 private:
  bool Apply(const engine::JobAccepted& record);
  bool Apply(const engine::JobGrown& record);
  bool Apply(const engine::JobSealed& record);
  bool Apply(const engine::PolicyChanged& record);
  bool Apply(const engine::TasksWithdrawn& record);
  bool Apply(const engine::TasksLinked& record);
  bool Apply(const engine::TasksCancelled& record);
  bool Apply(const engine::TasksReopened& record);
  bool Apply(const engine::JobHeld& record);
  bool Apply(const engine::JobReleased& record);
  bool Apply(const engine::JobSteered& record);
  bool Apply(const engine::JobParted&) { return true; }
  bool Apply(const engine::NeedsChanged& record);
  bool Apply(const engine::Leased& record);
  bool Apply(const engine::GangLeased& record);
  bool Apply(const engine::Returned& record);
  bool Apply(const engine::AttemptEnded& record);
  bool Apply(const engine::JobFinished& record);
  bool Apply(const engine::JobCancelled& record);
  // Facts about users and nodes make no task's history wrong.
  template <typename Other>
  bool Apply(const Other&) {
    return true;
  }

  std::map<JobId, BookedJob> jobs_;
};

inline bool IsFinal(TaskState state) {
  return state != TaskState::kQueued && state != TaskState::kLeased;
}

}  // namespace spate::sim
