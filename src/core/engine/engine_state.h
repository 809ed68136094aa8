// The engine's state, and the context in which one Step decides. Private to core/engine.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/job_state.h"
#include "core/engine/place/place.h"
#include "core/engine/place/turns.h"
#include "core/model/ranges.h"

namespace spate::engine {

// A range of leased tasks on a node. A task belongs to it while it is leased and its newest
// attempt is the range's; the range goes when none is left.
struct LeasedRange {
  uint32_t count = 0;
  uint32_t left = 0;  // neither ended nor taken back
  uint32_t request = 0;
  uint64_t charge = 0;    // for each of `left`, in UserState::used
  uint64_t sequence = 0;  // counts the leases of the hub's life: nodes start tasks in this order
  bool lossy = false;     // one task, which was present at a loss: nothing is to wait behind it
};
// The attempt is part of the key: a task is given out once under each number, so ranges of one
// attempt never overlap.
struct LeaseKey {
  JobId job;
  Attempt attempt;
  TaskIndex first = 0;
  friend auto operator<=>(const LeaseKey&, const LeaseKey&) = default;
};

// What a node does for one job.
struct JobHere {
  place::Amounts held;  // that its leases take
  uint32_t leased = 0;  // tasks
  Duration wall;        // a moving average of what ended lately; zero: not known
};

struct NodeState {
  bool present = false;                // joined in this life of the hub, and not silent
  Instant lost_at = Instant::Never();  // while it is silent
  Offer offer;                         // empty until it has joined
  std::map<LeaseKey, LeasedRange> leases;
  bool drained = false;
  // Whose jobs have set it aside, by record; and why all do, when they do. A few that have finished
  // are remembered for each user, until the hub ends or they go on.
  std::map<JobId, std::string> set_aside;
  std::string sick;
  // Derived from leases and offer, or news. Not part of what replay must give again, since a
  // node's offer and speed are learned anew in each life.
  std::map<JobId, JobHere> jobs;  // with leases, and a few of the last without
  uint32_t leased = 0;            // tasks
  uint32_t lossy = 0;             // of them, LeasedRange::lossy
  place::Amounts held;            // the sum over jobs
  bool crowded = false;           // tasks wait there behind others
  uint64_t ended = 0;
  uint64_t failed = 0;
  Instant moved;          // a task ended, or was given to it when it had room
  bool recalled = false;  // it was asked for what waits there, and neither answered nor was given
                          // anything since

  bool TakesTasks() const { return IsThere() && sick.empty(); }
  // So many of the user's jobs have set it aside that it is not tried with another one of theirs.
  bool Fails(const std::string& user) const {
    constexpr int kJobs = 3;
    if (set_aside.size() < kJobs) return false;
    return std::ranges::count(set_aside, user, [](const auto& each) { return each.second; }) >=
           kJobs;
  }
  // It would run tasks, if it had to.
  bool IsThere() const { return present && !drained; }
};

struct UserState {
  UserRule rule;
  uint32_t jobs = 0;     // that have not finished
  uint32_t leased = 0;   // tasks
  uint64_t unended = 0;  // tasks that have not ended
  // Millionths of processors that the leases take; what waits on a node behind what runs there
  // counts little. Derived, as NodeState::used.
  uint64_t used = 0;
  // Jobs with something to give out: how many have which priority, and which weight.
  std::map<int32_t, uint32_t, std::greater<>> wanting;
  std::map<uint32_t, uint32_t> weights;
  place::Line line;  // those of them that a pass may serve
  // Tasks, by weight. Who comes back has no claim to what others were given meanwhile. News.
  uint64_t given = 0;
  uint64_t last_given = 0;              // the largest JobState::Account::given that was served
  std::optional<place::UserTurn> turn;  // in EngineState::turns, where it stands while it asks

  bool IsBound() const { return rule.max_running > 0 && leased >= rule.max_running; }
};

struct EngineState {
  explicit EngineState(const Limits& given) : limits(given) {}

  void Apply(const Record& record);
  JobState* FindJob(JobId id);
  UserState& UserOf(const JobState& job) { return users.at(job.user()); }
  // After the job changed, or what its leases take.
  void UpdateTurn(JobState& job);
  void UpdateTurn(const std::string& name, UserState& user);
  void CountGiven(JobState& job, uint32_t tasks);
  void SetDue(JobState& job, Instant due);
  // What is due asks for room from now on.
  void WakeDue(Instant now);
  // When the next task of a job that wants something is due after `now`.
  Instant NextDue(Instant now);
  // More than one wants nodes now: users, or one user's jobs of the same priority.
  bool Contended() const;
  // The range's tasks begin to count in what node and user have, or `tasks` of them no longer do.
  void AddUse(JobState& job, NodeState& node, LeasedRange& range);
  void TakeUse(JobState& job, NodeState& node, const LeasedRange& range, uint32_t tasks);
  void CountCrowded(NodeState& node);
  // Whether tasks that are not short may wait behind others on a node: where nobody else wants it,
  // and no other node could start them sooner.
  bool HoldsLongAhead() const { return !Contended() && nodes.size() < 2; }
  // What waits on the node would start sooner elsewhere: tasks there are not as short as they were.
  bool Stalls(const NodeState& node, Instant now) const {
    return nodes.size() > 1 && node.leased > 0 && now >= node.moved + limits.lease_patience;
  }
  // Unblocks what waits for nothing any more (AfterKind::kEach).
  void Unblock(JobState& job, TaskIndex index);

  Limits limits;
  std::map<JobId, JobState> jobs;
  std::set<JobId> set_aside;  // Engine::SetAside
  std::map<NodeId, NodeState> nodes;
  std::map<std::string, UserState> users;
  // Users that have wanting jobs; and those whose line is not empty, and who are not at their
  // bound.
  std::set<const UserState*> wanting;
  std::set<place::UserTurn> turns;
  // Jobs by the time at which the next of their tasks is due, or earlier. Derived.
  std::set<std::pair<Instant, JobId>> dues;
  uint64_t last_given = 0;                      // the largest UserState::given that was served
  uint64_t leases = 0;                          // that were given out
  std::map<JobId, std::set<JobId>> dependents;  // by the job that they wait for
  std::set<std::pair<Instant, NodeId>> silent;  // nodes by the time at which they are lost

  // ---- What placement looks at. Derived.
  // Nodes that may have room for what there is. Others were found to be well supplied, and nothing
  // of them has ended since.
  std::set<NodeId> open;
  bool look_at_all = false;  // something else changed: the next pass looks at every node
  uint64_t rounds = 0;       // place::Round
  bool unpark = false;       // another node may fit what had fitted none
  uint32_t crowded = 0;      // nodes on which tasks wait behind others
  Instant next_recall;       // of what stalls: no earlier, as that looks at every node
};

// One Step. Record() is the only way to change the state.
struct StepContext {
  EngineState& state;
  Instant now;
  Output& out;

  std::vector<JobId> finished = {};  // whose dependents have not been told

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
void On(StepContext& step, const CancelJob& event);
void On(StepContext& step, const CancelTasks& event);
void On(StepContext& step, const SetUser& event);
void On(StepContext& step, const DrainNode& event);
void On(StepContext& step, const UndrainNode& event);
void On(StepContext& step, const RemoveNode& event);
void On(StepContext& step, const ClearSick& event);
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
// What the node has under this attempt number, normalized; costs what its leases hold of it.
std::vector<TaskRange> HeldNow(NodeState& node, const JobState& job, Attempt attempt);
// The part of `tasks` that is in there, in the same order.
std::vector<TaskRange> SelectHeld(NodeState& node, const JobState& job, Attempt attempt,
                                  const std::vector<TaskRange>& tasks);
// Holds a job if a rule of its policy says so, and finishes it when all its tasks ended.
void CheckJob(StepContext& step, JobState& job);
// How many tasks may be leased at once so that none of them starts after the end that holds the
// job (--halt), or is lost without having run (--once). UINT32_MAX without such a rule.
uint32_t LeasesBeforeHold(const JobState& job);
// Sends a recall, or a stop, to every node that holds tasks of the job.
void RecallJob(StepContext& step, JobId job, bool end_running);
// Tells a node to end what it has of a cancelled job, or of cancelled tasks of the job.
void StopCancelled(StepContext& step, NodeId id, const JobState& job);

// Ends a job: see CancelJob. `reason` is empty when a person wished it.
void Cancel(StepContext& step, JobState& job, std::string reason);
// Settles what waits for jobs that have finished: dependents start, or are cancelled (after.cc).
void SettleDependents(StepContext& step);
// Settles a job's waits for jobs that have finished already, or that nobody knows.
void SettleKnown(StepContext& step, JobState& job, const std::vector<JobOutcome>& outcomes);
JobOutcome OutcomeOf(const JobState& job);
void Settle(StepContext& step, JobState& job, const JobOutcome& outcome);
// After an attempt's end: sets its node aside if that fails the job's tasks, and trusts those again
// that are found not to be to blame (sick.cc). `before` is what the task had behind it.
void CheckNodes(StepContext& step, NodeId node, JobState& job, const AttemptEnd& end,
                const Trace& before);
// How many nodes could run tasks of the job, were they idle; counts to two.
int NodesFor(const EngineState& state, const JobState& job, Instant now);
// Another node than these takes tasks of the request, and does not fail the job's.
bool OthersTake(const EngineState& state, const JobState& job, uint32_t request,
                std::array<NodeId, 2> but, Instant now);

// The task failed on this node, which may be to blame, and another one is left to try first.
bool GoesElsewhere(const EngineState& state, const JobState& job, TaskIndex index, NodeId node,
                   Instant now);

// The share of a node that one task of this request takes.
uint64_t ShareOf(const NodeState& node, const Needs& needs);
// The node could run tasks of this request now, were it idle. 0: not; else so many at once. One
// that is set aside for all jobs cannot, unless `even_sick`.
uint32_t FitNow(const NodeState& node, const JobState& job, uint32_t request, Instant now,
                bool even_sick = false);
// Tasks that a node holds ahead of one that runs, by how long the job's tasks take there.
uint32_t AheadOf(const EngineState& state, const NodeState& node, JobId job);

// Gives out what there is to give (pass.cc).
void Place(StepContext& step);

}  // namespace spate::engine
