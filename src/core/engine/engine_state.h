// The engine's state, and the context in which one Step decides. Private to core/engine.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/engine/durable.h"
#include "core/engine/engine.h"
#include "core/engine/live.h"
#include "core/model/ranges.h"

namespace spate::engine {

class EngineState {
 public:
  explicit EngineState(const Limits& given) : live(given) {}

  const Durable& durable() const { return durable_; }
  // Changes made by the last record.
  const Changes& changes() const { return changes_; }
  // The only way to change what is durable, but for what a finished job leaves behind.
  void Apply(const Record& record);
  void Extend(const Leased& so_far, const Leased& more);
  void Unload(JobId job);
  void Reload(JobId job, EngineState& past);

  Live live;

 private:
  Durable durable_;
  Changes changes_;  // of the last record
};

// One Step. Record() is the only way to change what is durable; news change what is live.
class StepContext {
 public:
  StepContext(EngineState& state, Instant given, Output& to)
      : durable(state.durable()),
        live(state.live),
        board(live.board),
        now(given),
        out(to),
        state_(state) {}

  // And what follows from it at once: what waits for a task that ended without success is
  // withdrawn.
  void Record(engine::Record record);
  // More tasks for a lease that was recorded in this step, by its place in `out`.
  void Extend(size_t record, const Leased& more);
  // `now` by the wall clock.
  Instant wall() const { return now + live.clock_ahead; }

  const Durable& durable;
  Live& live;
  place::Board& board;
  Instant now;
  Output& out;
  std::vector<JobId> finished = {};  // whose dependents have not been told

 private:
  EngineState& state_;
};

// One function for each event, in on_job.cc, on_node.cc and on_task.cc.
void On(StepContext& step, const SubmitJob& event);
void On(StepContext& step, const GrowJob& event);
void On(StepContext& step, const SealJob& event);
void On(StepContext& step, const ChangePolicy& event);
void On(StepContext& step, const WithdrawTasks& event);
void On(StepContext& step, const ReopenTasks& event);
void On(StepContext& step, const ChangeNeeds& event);
void On(StepContext& step, const HoldJob& event);
void On(StepContext& step, const ReleaseJob& event);
void On(StepContext& step, const CancelJob& event);
void On(StepContext& step, const CancelTasks& event);
void On(StepContext& step, const SetUser& event);
void On(StepContext& step, const DrainNode& event);
void On(StepContext& step, const UndrainNode& event);
void On(StepContext& step, const RemoveNode& event);
void On(StepContext& step, const ForgetNode& event);
void On(StepContext& step, const ClearSick& event);
void On(StepContext& step, const NodeJoined& event);
void On(StepContext& step, const OfferChanged& event);
void On(StepContext& step, const NodeFull& event);
void On(StepContext& step, const NodeSilent& event);
void On(StepContext& step, const NodeKnocked& event);
void On(StepContext& step, const NodeLost& event);
void On(StepContext& step, const AttemptsEnded& event);
void On(StepContext& step, const TasksReturned& event);
void On(StepContext& step, const GangSent& event);
void On(StepContext& step, const RoomTaken& event);
void On(StepContext& step, const ChangeGangPolicy& event);
void On(StepContext& step, const NodesToCome& event);
void On(StepContext& step, const ChangeHalfLife& event);
void On(StepContext& step, const ChangePriority& event);
void On(StepContext& step, const ChangeTimes& event);
void On(StepContext& step, const ClockStepped& event);
void On(StepContext& step, const HubSlept& event);
void On(StepContext& step, const SteerTasks& event);
void On(StepContext& step, const FreezeTold& event);
void On(StepContext& step, const SlowedTold& event);
void On(StepContext& step, const ExcessTold& event);
void On(StepContext& step, const ResizeTasks& event);
void On(StepContext& step, const ResizeTold& event);

// Ends every attempt that `node` holds like this (by kNode or kStopped), but those that `keep`
// takes. Where they are cut off, `like.start` is when the node was heard last.
void EndLeasesOf(StepContext& step, NodeId node, const AttemptEnd& like,
                 const std::function<bool(const AttemptRef&)>& keep = nullptr);
// Before these ends of the node are recorded: tasks that are cut off once too often ask for more
// time (cut_off.cc).
void AskForTime(StepContext& step, NodeId node, std::span<const AttemptEnd> ends);
// Why a task whose attempt ends so on this node is not to be tried again: it was cut off once too
// often, and no node lives longer. Empty: it is.
std::string WhyTooLong(const StepContext& step, NodeId node, const JobState& job,
                       const AttemptEnd& end);
// Loses the nodes that were silent for too long, and wakes up for the next of them.
void LoseSilentNodes(StepContext& step);
// Forgets the nodes that were to end first what they had (RemoveNode) and have done so.
void RemoveEmptied(StepContext& step);
// Ends what cannot end by its deadline any more, and wakes up for the next of them (deadline.cc).
void MeetDeadlines(StepContext& step);
// Why a task of the class that starts then, by the wall clock, cannot end by its deadline; empty:
// it can.
Why WhyTooLate(const TaskClass& of_tasks, Instant start);
// Why no set of the nodes that are known could run a gang of the class, were they idle; empty: one
// could, or no node has joined (gang_fit.cc).
Why WhyGangNowhere(const place::Board& board, const std::string& user, const TaskClass& of_tasks,
                   Instant now);
// Why a gang waits although it fits the present nodes (gang_why.cc).
Why WhyGangWaits(const EngineState& state, const JobState& job, TaskIndex index, Instant now);
// Why a gang that has its nodes has not started; empty: it has, or has none.
Why WhyNoRoom(const EngineState& state, const JobState& job, TaskIndex index);
// A node has room for tasks of the class, and keeps it for a gang: which, and how long.
Why WhoKeepsNodes(const EngineState& state, const JobState& job, uint32_t request, Instant now);
// The nodes that `without` leaves in would hold a gang of the class, were they idle.
bool SomeHoldGang(const place::Board& board, const std::string& user, const TaskClass& of_gang,
                  Instant now, const std::function<bool(NodeId)>& without);
// The user, or the user's group, may not have that many more tasks (UserRule::max_queued); empty:
// they may.
Why WhyQueueIsFull(const place::Board& board, const std::string& user, uint64_t more);
// See Engine::WhyNeverRuns.
Why WhyNeverRuns(const Live& live, const std::string& user, const TaskClass& of_tasks, Instant now,
                 bool expects_nodes);
// Why a task whose attempt ends so is not to be tried again; empty: there is time enough.
std::string WhyNoFurtherTry(const StepContext& step, const JobState& job, const AttemptEnd& end,
                            bool counts);
// The existing tasks of `tasks` that are wanted, in the same order.
std::vector<TaskRange> Select(const JobState& job, const std::vector<TaskRange>& tasks,
                              const std::function<bool(TaskIndex)>& wanted);
// Tasks that the node has under this attempt number, normalized; costs its leases of that attempt.
std::vector<TaskRange> HeldNow(const NodeRecord& node, const JobState& job, Attempt attempt);
// The part of `tasks` that is in there, in the same order.
std::vector<TaskRange> SelectHeld(const NodeRecord& node, const JobState& job, Attempt attempt,
                                  const std::vector<TaskRange>& tasks);
// Holds a job if a rule of its policy says so, and finishes it when all its tasks ended.
void CheckJob(StepContext& step, const JobState& job);
// How many tasks may be leased at once so that none of them starts after the end that holds the
// job (--halt), or is lost without having run (--once). UINT32_MAX without such a rule.
uint32_t LeasesBeforeHold(const JobState& job);
// Sends a recall, or a stop, to every node that holds tasks of the job.
void RecallJob(StepContext& step, JobId job, bool end_running);
// Tells a node to end what it has of a cancelled job, or of cancelled tasks of the job.
void StopCancelled(StepContext& step, NodeId id, const JobState& job);

// Tells a node that has come what is stopped and what is not (steer.cc); `frozen`: as it says.
void FreezeAgain(StepContext& step, NodeId id, const std::vector<HeldTasks>& frozen);
// Orders again, of a node that has come, the changes of requests that it has not confirmed
// (resize.cc).
void ResizeAgain(StepContext& step, NodeId id);
// Cancels what has been frozen for Limits::max_frozen, and wakes up for the next of it.
void EndLongFrozen(StepContext& step);
// A gang whose nodes all have room may start, unless it is stopped.
void StartIfReady(StepContext& step, const JobState& job, TaskIndex index);
// The same of one that was stopped.
void ContinueGang(StepContext& step, const JobState& job, TaskIndex index);
// Ends a job: see CancelJob. `reason` is empty when a person wished it.
void Cancel(StepContext& step, const JobState& job, std::string reason);
// Withdraws what waits for a task that has ended without success, and what waits for that. Cost:
// those tasks and their edges.
void WithdrawDescendants(StepContext& step, const JobState& job, TaskIndex lost);
// Adds to tasks that are to be reopened what was cancelled and waits for them; `all_ended`: however
// it has ended. Returns a leased task that waited for them, if there is one. Cost: as above.
std::optional<TaskIndex> AddDescendants(const JobState& job, bool all_ended,
                                        std::vector<TaskRange>& tasks);
// Withdraws what waits for any task of the job that has ended without success. Cost: its tasks and
// edges.
void WithdrawAllDescendants(StepContext& step, const JobState& job);
// Settles what waits for jobs that have finished: dependents start, or are cancelled (after.cc).
void SettleDependents(StepContext& step);
// Settles a job's waits for jobs that have finished already, or that nobody knows.
void SettleKnown(StepContext& step, const JobState& job, const std::vector<JobOutcome>& outcomes);
JobOutcome OutcomeOf(const JobState& job);
void Settle(StepContext& step, const JobState& job, const JobOutcome& outcome);
// Before such an end is recorded of a task that is tried again: one that ran out of memory asks for
// more (memory.cc).
void AskForMemory(StepContext& step, const JobState& job, const AttemptEnd& end);
// The end of an attempt that was just recorded.
struct Ended {
  NodeId node;  // the one that it speaks for or against
  Cause cause = Cause::kSuccess;
  uint32_t request = 0;
  Trace before;              // what the task had behind it
  bool first_there = false;  // the job's first success on the node
};
// Sets nodes aside that fail the job's tasks, and trusts those again that are found not to be to
// blame (sick.cc).
void CheckNodes(StepContext& step, const JobState& job, const Ended& ended);
// Before the job's end is recorded: which nodes it had set aside is remembered after it.
void RememberBlames(StepContext& step, const JobState& job);
// Jobs that have ended are no reason any more to avoid the node. Without one no record is made.
void ForgetBlames(StepContext& step, NodeId node);
// Before the ended job goes on, or somebody trusts the nodes that it had set aside. Node 0: each.
void ForgetBlamesBy(StepContext& step, JobId job, NodeId node = {});
// The node has left for good, and nothing that goes on hangs on it; perhaps it is still blamed.
bool MayForget(const Durable& durable, const place::Board& board, NodeId node);
// The node could run tasks of this request now, were it idle. 0: not; else so many at once.
inline uint32_t FitNow(const place::Node& node, const JobState& job, uint32_t request, Instant now,
                       bool even_sick = false) {
  return place::FitNow(node, job.user(), job.request(request), now, even_sick);
}
// How many nodes could run tasks of the job, were they idle; counts to two.
int NodesFor(const place::Board& board, const JobState& job, Instant now);
// Nodes other than these take tasks of the request, and do not seem to fail the job's. Of a gang:
// together they would hold it, were they idle. Cost: up to all nodes.
bool OthersTake(const place::Board& board, const JobState& job, uint32_t request,
                std::array<NodeId, 2> but, Instant now);
// The task failed on this node, and another one is left to try first.
bool GoesElsewhere(const place::Board& board, const JobState& job, TaskIndex index, NodeId node,
                   Instant now);

// Gives out what there is to give (pass.cc); gangs (gang_pass.cc), before single tasks and behind
// them. True: there was a pass over gangs.
void Place(StepContext& step);
bool PlaceGangs(StepContext& step);
// Those that come before single tasks by now. False: none of them has room.
bool PlaceNextGangs(StepContext& step);
void PlaceOtherGangs(StepContext& step);

// Gangs that are leased (on_gang.cc).
// Some of it may have run: it was told to start, or an earlier life may have told it to.
bool MayHaveStarted(const StepContext& step, const AttemptRef& ref);
// The parts that have not ended are to.
void StopParts(StepContext& step, const JobState& job, TaskIndex index);
// The parts of a node that has come.
void ResumeParts(StepContext& step, NodeId id);
// Gangs whose nodes have not found room for them in time.
void GiveUpLateGangs(StepContext& step);
// One of its parts has ended. The task's end, when it was the last one; else it is recorded here.
std::optional<AttemptEnd> EndOfGang(StepContext& step, NodeId node, const JobState& job,
                                    const GangRun& gang, AttemptEnd end);

}  // namespace spate::engine
