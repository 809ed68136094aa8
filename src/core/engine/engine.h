// Engine: the life of jobs and tasks, as one deterministic state machine.
//
// Events are past facts, records are what we will remember, sends are orders to nodes, notices
// tell watchers. Step decides, emits records, applies them, and lists the actions that must wait
// until the records are durable. State changes only in Apply, so that a restart (Apply over the
// journal, then Resume) and live running share all code. No clock, no I/O, no chance: `now`
// comes with the input.
//
// Thread: one at a time. Cost: an event costs by what it names, never by the number of tasks,
// nodes or jobs (except the events that come once in a job's life).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/enum_list.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/engine/record.h"
#include "core/model/class_demand.h"
#include "core/model/gang.h"
#include "core/model/graph.h"
#include "core/model/job.h"
#include "core/model/limits.h"
#include "core/model/ranges.h"

namespace spate::engine {

// ---- Events ------------------------------------------------------------------------------------

// How a job ended that another one waits for.
struct JobOutcome {
  JobId job;
  JobCounts counts;
  std::vector<TaskRange> succeeded;  // wanted for AfterKind::kEach only
};
struct SubmitJob {
  JobId job;  // new
  JobPlan plan;
  // One for each job in plan.after that has finished and left the engine's memory.
  std::vector<JobOutcome> outcomes = {};
  // Edges among its tasks, without a cycle; those of a parent are neighbours.
  std::vector<Edge> edges = {};
  // Nodes that are known are away and may come back: no gang is refused for those that are there.
  bool expects_nodes = false;
};
struct GrowJob {
  JobId job;
  uint32_t count = 0;
  std::vector<TaskClass> new_requests;
  std::vector<RequestRun> runs;
  // How many requests of the job its sender knew of; the new ones are numbered from there.
  uint32_t known_requests = UINT32_MAX;  // all
  // Like SubmitJob's; the children are new tasks, numbered as if `known_tasks` came before them.
  std::vector<Edge> edges = {};
  uint32_t known_tasks = 0;
  std::string key = {};  // of the addition; one that the job remembers is not made again
};
struct SealJob {
  JobId job;
};
struct ChangePolicy {
  JobId job;
  JobPolicy policy;
};
struct WithdrawTasks {
  JobId job;
  std::vector<TaskRange> tasks;  // those that are not queued stay as they are
  // Their list no longer has them: those that have ended are withdrawn, too, and the job counts
  // none of them any more.
  bool left_list = false;
};
// Cancelled tasks that wait for them, directly or through others, are reopened with them. Tasks
// that had left their list are in it again, and one of them that succeeded is done. A job that had
// ended waits again for those jobs of JobPlan::after that have not.
struct ReopenTasks {
  JobId job;
  std::vector<TaskRange> tasks;  // those that did not end, or succeeded, stay as they are
  NeedsChange change = {};       // of what these tasks ask for
  // Tasks that succeeded run again, with all that waited for them and have ended, but for those
  // that have left their list. Nothing happens while one that waited for them runs.
  bool succeeded = false;
};
// Changes the needs of queued tasks; other tasks keep theirs.
struct ChangeNeeds {
  JobId job;
  std::vector<TaskClass> requests;
  std::vector<RequestRun> runs;  // sorted; numbers of `requests`
};
struct HoldJob {
  JobId job;
  bool end_running = false;  // also end what runs; such attempts end as kStopped and do not count
  HoldReason reason = HoldReason::kUser;
  bool even_ended = false;  // then what is added to it later is not started
};
struct ReleaseJob {
  JobId job;
};
// Ends the job: what is queued is withdrawn, what runs is ended.
struct CancelJob {
  JobId job;
  bool kill = false;    // at once, without a word; also of what is being ended
  std::string by = {};  // the user who kills it
};
// Ends some of its tasks likewise; those that have ended stay as they are.
struct CancelTasks {
  JobId job;
  std::vector<TaskRange> tasks;
  std::string reason;  // in words; empty: a person wished it
  bool kill = false;   // as above
  std::string by = {};
};
// Stops or continues a job, or tasks of it that have not ended; or tells that it was signalled.
// Single tasks of a job that is stopped as a whole are continued with it alone.
struct SteerTasks {
  JobId job;
  Steering what = Steering::kStop;  // not kKill
  std::vector<TaskRange> tasks;     // empty: the whole job
  std::string by;
  int32_t signal = 0;
};
// A node tells that all processes of an attempt, or of its part of a gang, stand still, or do not.
struct FreezeTold {
  NodeId node;
  AttemptRef ref;
  bool frozen = false;
  Instant stop;  // SendFreeze::stop
};
// A node has seen an attempt move less beside another job (core/agent/slowdowns.h).
struct SlowedTold {
  NodeId node;
  SlowedBeside what;
};
// A node tells that an attempt has used more than it asked for. Where that stops the task, the node
// has stopped its processes.
struct ExcessTold {
  NodeId node;
  AttemptRef ref;
  Excess excess;
};
// Changes the request of tasks that have not ended: of queued ones at once; of a leased one its
// node is ordered to, which confirms or refuses. Tasks for which Engine::WhyNotResized has a
// reason, and those that are as wanted, stay as they are.
struct ResizeTasks {
  JobId job;
  std::vector<TaskRange> tasks;  // empty: the whole job
  TaskSize to;
  std::string by;
};
// The node's answer to SendResize.
struct ResizeTold {
  NodeId node;
  AttemptRef ref;
  Instant since;        // SendResize::since
  std::string refused;  // why, in words; empty: it is done
};
// A user without limits gets those of kNewUsers (record.h) with the next job.
struct SetUser {
  std::string user;
  UserRule rule;
};
// Gives a node nothing more, until UndrainNode; what waits there is taken back, what runs goes on.
struct DrainNode {
  NodeId node;
  std::string reason = {};  // in a person's words; a later one takes its place
};
struct UndrainNode {
  NodeId node;
};
// Forgets a node; what it still had is lost.
struct RemoveNode {
  NodeId node;
  // First ends the node's tasks and gives it no new ones; NoticeNodeRemoved follows. A silent node
  // is removed when it counts as lost.
  bool ends_first = false;
};
// Forgets what jobs that have ended said of a node, and with it the node, unless it matters still
// (Engine::ForgetNode).
struct ForgetNode {
  NodeId node;
};
// Trusts nodes again that were set aside.
struct ClearSick {
  NodeId node;  // 0: every node
  JobId job;    // 0: whatever they were set aside for
};
// A node has come, or come back. The tasks that it holds go on; its other leases are lost.
struct NodeJoined {
  NodeId node;
  Offer offer;
  std::vector<HeldTasks> holds;
  std::vector<HeldTasks> frozen = {};  // of these
};
// A node that is there offers something else from now on; what it holds goes on.
struct OfferChanged {
  NodeId node;
  Offer offer;
};
// The hub's machine was suspended for this time, in which the nodes' lifetimes continued.
struct HubSlept {
  Duration time;
};
// A node's disk has no room for what tasks write, and why: it gets nothing, and what waits there is
// taken back. Empty: it has room again.
struct NodeFull {
  NodeId node;
  std::string why;
};
// A node cannot be reached since then. It gets nothing, and its leases stand until it has been away
// for Limits::node_patience; then it is lost.
struct NodeSilent {
  NodeId node;
  Instant since;
};
// An unreachable node has shown that it is alive: its patience starts again.
struct NodeKnocked {
  NodeId node;
};
// A node has ended. All its leases are lost.
struct NodeLost {
  NodeId node;
  bool left = false;  // it said so: its tasks were cut off (IsCutOff), and were at no loss
};
struct AttemptsEnded {
  NodeId node;
  std::vector<AttemptEnd> ends;  // late news (an older attempt, an unknown task) is ignored
};
// Answer to a Recall: leased tasks that had not been started.
struct TasksReturned {
  NodeId node;
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;
};
// The leases of a gang's parts have left the process, as their record is durable. From now on the
// nodes have Limits::room_patience: however long the commit took, that was no fault of theirs.
struct GangSent {
  AttemptRef ref;
};
// A node has room for its part of a gang, and keeps it until the gang may start or is stopped; or
// the part runs there. Nodes that join report it again. A single task has ended: its room is free,
// and its end follows. An empty `ref` is an answer to SendAsk.
struct RoomTaken {
  NodeId node;
  AttemptRef ref;
};
// Sets the order of gangs, from now on.
struct ChangeGangPolicy {
  GangPolicy policy = GangPolicy::kFair;
};
// Nodes that pools will add when they are needed, and only then. Replaces the earlier list, and is
// not remembered beyond the process. A task that was cut off repeatedly, and needs longer than any
// node lives, fails; without this list it waits. A task that ran out of memory requests no more
// memory than some node has.
struct NodesToCome {
  struct Kind {
    std::string user;                 // whose tasks they take; empty: everybody's
    std::vector<std::string> labels;  // sorted
    Duration longest;                 // that a task may be planned to take there; Max(): any
    uint64_t memory = 0;              // bytes that one offers; 0: not known
    // They are for such tasks of this user, by their labels.
    bool Takes(const std::string& of_user, const Needs& needs) const;
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  std::vector<Kind> kinds;
};

// Sets how long use counts for shares (HalfLifeChanged).
struct ChangeHalfLife {
  Duration half_life;
};
// Sets the priority of a job; its tasks that wait on nodes stay there.
struct ChangePriority {
  JobId job;
  int32_t priority = 0;
};
// Sets what queued tasks of a job are planned by; those that nodes have keep it.
struct ChangeTimes {
  JobId job;
  std::optional<Duration> time;     // Needs::time
  std::optional<Instant> deadline;  // TaskClass::deadline; Never(): none
};

using Event = std::variant<SubmitJob, GrowJob, SealJob, ChangePolicy, WithdrawTasks, ReopenTasks,
                           ChangeNeeds, HoldJob, ReleaseJob, CancelJob, CancelTasks, SetUser,
                           DrainNode, UndrainNode, RemoveNode, ForgetNode, ClearSick, NodeJoined,
                           OfferChanged, NodeFull, NodeSilent, NodeKnocked, NodeLost, AttemptsEnded,
                           TasksReturned, GangSent, RoomTaken, ChangeGangPolicy, NodesToCome,
                           ChangeHalfLife, ChangePriority, ChangeTimes, ClockStepped, HubSlept,
                           SteerTasks, FreezeTold, SlowedTold, ExcessTold, ResizeTasks, ResizeTold>;

// ---- Actions -----------------------------------------------------------------------------------

// Gives tasks to a node. The shell adds their rows.
struct SendLease {
  NodeId node;
  JobId job;
  Attempt attempt;
  uint32_t request = 0;
  Needs needs;
  std::vector<TaskRange> tasks;
  bool node_waits = false;  // it had free slots
  // A gang's part, for which the node takes room and which it starts at SendGo. `needs` are the
  // part's, `tasks` the one task.
  std::shared_ptr<const GangPart> part = nullptr;
  std::optional<Duration> time_limit = {};  // in place of the job's
};
// All nodes have room for their parts of a gang: this one may start its part.
struct SendGo {
  NodeId node;
  AttemptRef ref;
};
// Asks a node for what it has not started of a job.
struct SendRecall {
  NodeId node;
  JobId job;
};
// Tells a node to end the attempts of a job that run there, and to give back what has not started.
struct SendStop {
  NodeId node;
  JobId job;
  std::vector<TaskRange> tasks;  // only these; empty: all
  bool kill = false;             // at once
};
// Tells a node to freeze the attempts of a job that run there, and to give back what has not
// started; or to let them go on.
struct SendFreeze {
  NodeId node;
  JobId job;
  std::vector<TaskRange> tasks;
  bool frozen = false;
  Instant stop;  // StopFact::since, which names the stop
};
// Tells a node to change what an attempt has there, or to give the task back if it has not started.
struct SendResize {
  NodeId node;
  AttemptRef ref;
  TaskSize to;    // all that is to be changed
  Instant since;  // names the change
};
// Tells a node that tasks are not its own any more. Its reports of them are late news.
struct SendDrop {
  NodeId node;
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;
};
// Requests any answer from a node, which RoomTaken then reports.
struct SendAsk {
  NodeId node;
};
using Send = std::variant<SendLease, SendRecall, SendStop, SendDrop, SendGo, SendAsk, SendFreeze,
                          SendResize>;

// ---- Notices -----------------------------------------------------------------------------------

// A job is durable from now on.
struct NoticeAccepted {
  JobId job;
};
// A job was not taken (UserRule::max_queued, or it can never run). Nothing is remembered of it.
struct NoticeRefused {
  JobId job;
  Why why;
  bool may_later = false;  // when others of its user's tasks have ended
};
// An attempt's end is durable. `end` is what the journal has. kRetry: its task waits again.
struct NoticeEnded {
  AttemptEnd end;
  Verdict verdict = Verdict::kSucceeded;
  bool counts = true;  // as in AttemptEnded
};

// Tasks that a node was given wait again, since it returned them before it began.
struct NoticeReturned {
  JobId job;
};
struct NoticeHeld {
  JobId job;
  HoldReason reason = HoldReason::kUser;
};
// A job that was held is held no longer: it was released, or cancelled.
struct NoticeReleased {
  JobId job;
};
struct NoticeFinished {
  JobId job;
  JobCounts counts;
};
// A node that was to end first what it had is forgotten.
struct NoticeNodeRemoved {
  NodeId node;
};
// A node was set aside; see the record NodeSick.
struct NoticeNodeSick {
  NodeId node;
  JobId job;
  std::string text;
};
using Notice = std::variant<NoticeAccepted, NoticeRefused, NoticeEnded, NoticeReturned, NoticeHeld,
                            NoticeReleased, NoticeFinished, NoticeNodeSick, NoticeNodeRemoved>;

struct Input {
  Instant now;  // steady: never steps back
  std::span<const Event> events;
  Duration clock_ahead = {};  // the wall clock, which deadlines are by
};

struct Output {
  std::vector<Record> records;  // durable BEFORE anything below leaves the process
  std::vector<Send> sends;
  std::vector<Notice> notices;
  Instant wake_at = Instant::Never();  // call Step again then, if nothing happened before

  void Clear();
};

// Fate of the nodes of the previous life.
enum class LastNodes : uint8_t {
  kEnded,      // they ended with it (`spate run`): what was leased is queued again, its attempts
               // ended as kStopped (with `once`, such tasks are unknown)
  kMayReturn,  // they are silent from now on
};

// ---- What people may ask -----------------------------------------------------------------------

SPATE_ENUM(NodeStanding,
    kUnknown, "unknown",  // it has not joined in this life of the hub
    kJoined, "joined",
    kSilent, "silent",
    kDrained, "drained",
    kSick, "sick",        // set aside for all jobs
    kFull, "full");  // its disk has no room
struct NodeInfo {
  NodeId node;
  Offer offer;  // the newest; empty when it has not joined
  NodeStanding standing = NodeStanding::kUnknown;
  std::string text;     // why it is sick or full, for whom it was set aside
  uint32_t leased = 0;  // tasks that it holds
  double used = 0;      // the part of it that they take; above 1 when some are held ahead
  uint64_t ended = 0;   // attempts, in this life of the hub
  uint64_t failed = 0;  // of them
};
struct UserInfo {
  std::string user;
  UserRule rule;
  uint32_t jobs = 0;  // that have not finished
  uint32_t queued = 0;
  uint32_t leased = 0;
  double used = 0;  // processors that its tasks take
  double kept = 0;  // and that stand idle for its gangs
  double use = 0;   // processor seconds that count for its share now (HalfLifeChanged)
};
// A node where attempts of a job failed in a row, and none has succeeded since.
struct JobTrouble {
  NodeId node;
  uint32_t failures = 0;
  bool set_aside = false;  // the job is given to other nodes
};
struct JobInfo {
  JobId job;
  std::string user;
  int32_t priority = 0;
  JobCounts counts;
  HoldReason held = HoldReason::kNone;
  bool cancelled = false;
  bool finished = false;
  std::vector<After> after;  // what it still waits for
};

class EngineState;  // core/engine/engine_state.h

class Engine {
 public:
  explicit Engine(const Limits& limits = kLimits);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Replay: changes state and does nothing else. Also used by Step for what it decides.
  void Apply(const Record& record);

  // Decides on events at input.now. Appends to `out` (call Clear before).
  void Step(const Input& input, Output& out);

  // Before Resume: the job is there, but nothing is known of it. Jobs that wait for it go on
  // waiting.
  void SetAside(JobId job);

  // After replay, once.
  void Resume(LastNodes nodes, Instant now, Output& out);

  // Frees the memory of a finished job; its id stays used. No change of state: a job that has
  // finished matters to nothing but its own tasks. To reopen it, Reload it first. False when it has
  // not finished.
  bool Unload(JobId job);
  // Frees the memory of a node that is away. No change of state either: false when it is there, may
  // still come back to its tasks, was drained or set aside, or is blamed by jobs that have ended.
  bool ForgetNode(NodeId node);
  // Jobs that have ended had set the node aside: it takes the event ForgetNode to forget it.
  bool IsBlamed(NodeId node) const;
  // In a person's words; nothing: the node is not drained.
  std::optional<std::string> WhyDrained(NodeId node) const;
  // Takes an unloaded job up again from an engine that was given all its records and no others, on
  // any thread. Cost: none of the job's size. False when it has not finished there.
  bool Reload(JobId job, Engine& past);

  // The order of gangs.
  GangPolicy gang_policy() const;
  Duration half_life() const;  // of use (HalfLifeChanged)

  // Keeps from now on what DrainDemand tells; before, nothing of it is kept. Measured times are
  // those of attempts that end after it: where it comes before the replay, of the replayed ones
  // too. Cost: all jobs.
  void WatchDemand();
  // Tasks that want nodes, as of the last Step: the classes whose demand is another one than when
  // it was last taken; at first all that have something ready. One that has nothing more ready
  // comes once, with 0 ready and 0 running, whatever still runs of it. Cost: the classes that were
  // touched since, with what demand_feed.h adds to that.
  std::vector<ClassDemand> DrainDemand();

  // Queries. They return values, never references into the state.
  std::optional<JobCounts> Counts(JobId job) const;
  // The node has this attempt, and it has not ended: what any other one says of it is not true.
  bool Holds(NodeId node, const AttemptRef& ref) const;
  // Tasks that the node holds; those of one job, but for gangs.
  uint32_t Leased(NodeId node) const;
  uint32_t Leased(NodeId node, JobId job) const;
  // Jobs that the job slows or is slowed by, and that it is kept away from.
  std::vector<PartedFrom> PartedOf(JobId job) const;
  // The same of all unfinished jobs, as far as it was seen on this node.
  std::vector<std::pair<JobId, PartedFrom>> PartedOn(NodeId node) const;
  // Attempts that have ended there in this life of the hub, but those that were stopped.
  uint64_t EndedOn(NodeId node) const;
  std::optional<TaskState> StateOf(JobId job, TaskIndex index) const;
  // The attempt of a task that is given to a node; nullopt: none is.
  std::optional<AttemptRef> CurrentLease(JobId job, TaskIndex index) const;
  // Parts of a gang that is given to nodes, by rank; empty: it is none.
  std::vector<GangLeased::Part> PartsOf(JobId job, TaskIndex index) const;
  // Tasks that the job has, with those that have left its list, which its counts leave out; 0: it
  // is not known.
  uint32_t TaskCount(JobId job) const;
  // The first task of an addition by its key. A job remembers kLimits.additions.
  std::optional<TaskIndex> AdditionOf(JobId job, const std::string& key) const;
  bool LeftList(JobId job, TaskIndex index) const;
  HoldReason Held(JobId job) const;
  // The stop of a job as a whole, or of a task, by itself or with its job; nullopt: there is none.
  std::optional<StopFact> StopOf(JobId job) const;
  std::optional<StopFact> StopOf(JobId job, TaskIndex index) const;
  // The single tasks that are stopped. Cost: these.
  std::vector<TaskRange> StoppedTasks(JobId job) const;
  // How far the stop of a whole job has come, or that of a leased task.
  Freezing FreezingOf(JobId job) const;
  Freezing FreezingOf(JobId job, TaskIndex index) const;
  // Leased tasks of the job that are stopped: how many, which of them stand still, and the nodes
  // that have not said so of all that they have. Cost: the job's leases.
  struct Stopped {
    uint32_t tasks = 0;
    uint32_t frozen = 0;
    std::vector<NodeId> unanswered;
  };
  Stopped StoppedOf(JobId job) const;
  // Leased tasks of the job, and each part of a gang, by the nodes that have them. Cost: these.
  struct LeasedOn {
    NodeId node;
    AttemptRef ref;
  };
  std::vector<LeasedOn> LeasesOf(JobId job) const;
  // Why the task's request cannot be changed so: it has ended, is of a gang, its node cannot do it
  // or keeps the room for others, or an earlier change is under way. Empty: it can, as far as is
  // known here. Cost: the gangs that wait.
  std::string WhyNotResized(JobId job, TaskIndex index, const TaskSize& to, Instant now) const;
  // The newest change of a leased task's request since its attempt was given out.
  std::optional<ResizeFact> ResizeOf(JobId job, TaskIndex index) const;
  // The limit that a task has in place of the job's.
  std::optional<Duration> TimeLimitOf(JobId job, TaskIndex index) const;
  // Nodes that have some of them, and this feature (Offer::features).
  std::vector<NodeId> WithFeature(JobId job, std::string_view feature) const;
  std::optional<JobPolicy> Policy(JobId job) const;
  // The distinct requests of its tasks, as the job's records number them.
  std::vector<TaskClass> Requests(JobId job) const;
  std::optional<TaskClass> NewestRequest(JobId job) const;
  // Current request of a task; its retries may request more than the job did.
  std::optional<TaskClass> ClassOf(JobId job, TaskIndex index) const;
  // Edges between its tasks; those of a parent are neighbours. Cost: its tasks and edges.
  std::vector<Edge> Edges(JobId job) const;
  // Tasks that ReopenTasks::succeeded reopens for these, sorted. Fails (kInvalid) when one of these
  // has not succeeded, and (kBusy) while one that waited for them runs, unless what is leased is
  // about to end (`idle`).
  Result<std::vector<TaskRange>> RunAgain(JobId job, std::vector<TaskRange> tasks,
                                          bool idle = false) const;
  bool Finished(JobId job) const;
  // Tasks from `from` up to `until` that have not ended. Cost: these tasks.
  std::vector<TaskRange> Unended(JobId job, TaskIndex from = 0, TaskIndex until = UINT32_MAX) const;
  std::vector<JobTrouble> Troubles(JobId job) const;
  // Attempts of the job that failed in a row, on any nodes.
  uint32_t FailuresInRow(JobId job) const;
  std::optional<JobInfo> Info(JobId job) const;
  // Jobs that it was submitted to start after, whatever became of them. Empty: none, or not known.
  std::vector<After> PlannedAfter(JobId job) const;
  std::vector<JobInfo> Jobs() const;
  std::vector<NodeInfo> Nodes() const;
  std::vector<UserInfo> Users() const;
  size_t user_count() const;
  uint64_t unended() const;  // tasks of all users
  // Groups of users, with the totals of their members.
  std::vector<UserInfo> Groups() const;
  // Own limits, else those of new users, else none.
  UserRule RuleOf(const std::string& user) const;
  // The user or group has limits of its own.
  bool HasRule(const std::string& user) const;
  // Why a task does not run now; empty when it runs or has ended.
  Why Explain(JobId job, TaskIndex index, Instant now) const;
  // The same of the next of a job's queued tasks; when none is queued, as WhyStalled.
  Why WhyWaits(JobId job, Instant now) const;
  // The reason why a job that is not held cannot continue until somebody acts: tasks that fit no
  // node, nodes that are silent, more tasks that it is open for, or another job that waits so.
  // Empty: there is none. Cost: the nodes, for each of the
  // job's first requests.
  Why WhyStalled(JobId job, Instant now) const;

  // Why a task of the class can never run, as far as is known: its deadline comes too soon, or no
  // set of nodes holds the gang, and none are to come. Empty: it may run. Cost: the nodes, for a
  // gang.
  Why WhyNeverRuns(const std::string& user, const TaskClass& of_tasks, Instant now,
                   bool expects_nodes = false) const;
  // Why the job gets no more tasks now: its user's queue is full. GrowJob does not look at that, as
  // hosts of a single user have no such limit; a hub asks before. Additions of one turn of the
  // hub's loop do not count each other.
  Why WhyNotGrown(JobId job, uint32_t tasks) const;

  // Aborts when the state contradicts itself. Cost: all of the state; for tests and simulation.
  void CheckInvariants() const;
  // A digest of the state that replay must reproduce.
  uint64_t Digest() const;
  // Bytes that the state of jobs takes, about.
  uint64_t StateBytes() const;

 private:
  std::unique_ptr<EngineState> state_;
};

}  // namespace spate::engine
