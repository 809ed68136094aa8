// The engine's state, and the context in which one Step decides. Private to core/engine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/job_state.h"
#include "core/engine/place/place.h"
#include "core/model/ranges.h"

namespace spate::engine {

// A range of leased tasks on a node. A task belongs to it while it is leased and its newest
// attempt is the range's; the range goes when none is left.
struct LeasedRange {
  uint32_t count = 0;
  uint32_t left = 0;  // neither ended nor taken back
  uint32_t request = 0;
};
// The attempt is part of the key: a task is given out once under each number, so ranges of one
// attempt never overlap.
struct LeaseKey {
  JobId job;
  Attempt attempt;
  TaskIndex first = 0;
  friend auto operator<=>(const LeaseKey&, const LeaseKey&) = default;
};

struct NodeState {
  bool present = false;                // joined in this life of the hub, and not silent
  Instant lost_at = Instant::Never();  // while it is silent
  Offer offer;                         // empty until it has joined
  std::map<LeaseKey, LeasedRange> leases;
  // Derived from leases and offer. Not part of what replay must give again, since a node's offer
  // and speed are learned anew in each life.
  uint64_t used = 0;
  std::map<JobId, Duration> task_wall;  // a moving average of what ended lately
};

struct EngineState {
  explicit EngineState(const Limits& given) : limits(given) {}

  void Apply(const Record& record);
  JobState* FindJob(JobId id);

  Limits limits;
  std::map<JobId, JobState> jobs;
  std::map<NodeId, NodeState> nodes;
  std::set<JobId> active;  // neither finished nor held: what placement looks at
  std::set<std::pair<Instant, NodeId>> silent;  // nodes by the time at which they are lost
};

// One Step. Record() is the only way to change the state.
struct StepContext {
  EngineState& state;
  Instant now;
  Output& out;

  void Record(engine::Record record);
};

// One function for each event, in on_job.cc, on_node.cc and on_task.cc.
void On(StepContext& step, const SubmitJob& event);
void On(StepContext& step, const GrowJob& event);
void On(StepContext& step, const SealJob& event);
void On(StepContext& step, const ChangePolicy& event);
void On(StepContext& step, const WithdrawTasks& event);
void On(StepContext& step, const ReopenTasks& event);
void On(StepContext& step, const HoldJob& event);
void On(StepContext& step, const ReleaseJob& event);
void On(StepContext& step, const NodeJoined& event);
void On(StepContext& step, const NodeSilent& event);
void On(StepContext& step, const NodeLost& event);
void On(StepContext& step, const AttemptsEnded& event);
void On(StepContext& step, const TasksReturned& event);

// The lease of a node over an attempt, or end().
std::map<LeaseKey, LeasedRange>::iterator FindLease(NodeState& node, const AttemptRef& ref);
// The node holds this attempt and it has not ended: anything else that it says is late news.
bool IsCurrent(NodeState& node, const JobState& job, const AttemptRef& ref);
// Ends every attempt that `node` holds, by this cause (kNode or kStopped), but those that `keep`
// takes.
void EndLeasesOf(StepContext& step, NodeId node, Cause cause, const std::string& note,
                 const std::function<bool(const AttemptRef&)>& keep = nullptr);
// Loses the nodes that were silent for too long, and wakes up for the next of them.
void LoseSilentNodes(StepContext& step);
// The existing tasks of `tasks` that are wanted, in the same order.
std::vector<TaskRange> Select(const JobState& job, const std::vector<TaskRange>& tasks,
                              const std::function<bool(TaskIndex)>& wanted);
// Holds a job if a rule of its policy says so, and finishes it when all its tasks ended.
void CheckJob(StepContext& step, JobState& job);
// How many tasks may be leased at once so that none of them starts after the end that holds the
// job (--halt), or is lost without having run (--once). UINT32_MAX without such a rule.
uint32_t LeasesBeforeHold(const JobState& job);
// Sends a recall, or a stop, to every node that holds tasks of the job.
void RecallJob(StepContext& step, JobId job, bool end_running);

// The share of a node that one task of this request takes.
uint64_t ShareOf(const NodeState& node, const Needs& needs);

}  // namespace spate::engine
