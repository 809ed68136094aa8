// Agent: what a node decides. From its leases it starts attempts as its slots and resources allow,
// holds a few ahead of short tasks, enforces limits, ends what must end, and reports.
//
// One deterministic state machine like the engine (core/engine/engine.h): facts in, orders out, no
// clock and no I/O. It has no memory beyond the process: it is told what still runs of an earlier
// one (AttemptAdopted); what had not started is the hub's to give again.
// An attempt is a set of processes; the agent starts and ends it as one, and passes on the vector
// of their ends.
//
// Order: attempts start in the order of their leases. One that does not fit now is passed by those
// behind it that need nothing of what it is short of; and for Limits::passed_for by all of its job
// that fit. So large tasks are never starved by small ones, and free resources idle for none but
// those that have waited long.
//
// A part of a gang takes a slot and resources as others do, and is started there when the hub says
// so (GoArrived). Until then it counts as not started: who recalls, stops or drops it gets it back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/attempt.h"
#include "core/model/gang.h"
#include "core/model/job.h"
#include "core/model/limits.h"
#include "core/model/needs.h"
#include "core/model/ranges.h"
#include "core/model/resize.h"
#include "core/model/why.h"

namespace spate::agent {

// ---- Events ------------------------------------------------------------------------------------

// Runs since an earlier process of this node; before anything else. Until its job is opened it is
// bound by the limits in `settings`, where nothing else needs to be set.
struct AttemptAdopted {
  AttemptRef ref;
  uint16_t slot = 0;
  Instant start;
  Needs needs;
  std::vector<NamedOffer> given;
  std::shared_ptr<const JobSettings> settings;
  Duration frozen = {};  // so long in all until now
  bool is_frozen = false;
  bool is_part = false;  // of a gang
  // It is frozen because of this, and its hub may not know.
  std::optional<Excess> excess = {};
  std::optional<Duration> time_limit = {};  // as in LeaseArrived
};
struct JobOpened {
  JobId job;
  std::shared_ptr<const JobSettings> settings;
};
// The hub gives nothing more of the job, unless it opens it again. Once nothing of it is left here
// the executor closes it, too (CloseJob).
struct JobClosed {
  JobId job;
};
struct LeaseArrived {
  Epoch epoch;  // older than the newest seen: refused
  JobId job;
  Attempt attempt;
  Needs needs;
  std::vector<TaskRange> tasks;
  // Null for a single task; a gang's part has room taken (ReportRoom) and starts at GoArrived.
  std::shared_ptr<const GangPart> part = nullptr;
  std::optional<Duration> time_limit = {};  // in place of the job's
};
// A part of a gang may start. One that runs already goes on.
struct GoArrived {
  Epoch epoch;  // as above
  AttemptRef ref;
};
struct RecallArrived {
  JobId job;
};
struct StopArrived {
  JobId job;
  std::vector<TaskRange> tasks;  // of these; empty: of all
  bool kill = false;             // at once
};
// These tasks are not this node's any more.
struct DropArrived {
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;
};
// The processes of these tasks are to stop where they are, and tasks that have not started are
// given back, but for parts of gangs, which stand still once they start; or they go on. While an
// attempt is frozen no limit of time counts; one that is to end is let go.
struct FreezeArrived {
  JobId job;
  std::vector<TaskRange> tasks;
  bool frozen = false;
  Instant stop = {};  // FreezeAttempt has it again
};
// An attempt is to have more or less than it has; a task that has not started is given back. Not
// for parts of gangs. ReportResized follows, unless the attempt ends before.
struct ResizeArrived {
  AttemptRef ref;
  TaskSize to;
  Instant since = {};  // names the change
};
// The executor has done what ResizeAttempt asks for, or why not.
struct AttemptResized {
  AttemptRef ref;
  std::string refused;  // empty: it is done
};
// All attempts stand still (Ctrl-Z of a run), or go on; no limit of time counts meanwhile.
struct AllPaused {
  bool paused = false;
  Instant when;
};
struct AttemptStarted {
  AttemptRef ref;
  Instant when;
};
struct AttemptOver {
  AttemptEnd end;  // end.slot is the slot of its order
};
struct OrderTakenBack {
  AttemptRef ref;
};
struct MemorySampled {
  AttemptRef ref;
  uint64_t bytes = 0;
};
// An attempt has used more than it asked for. Where that stops it, its processes stand still.
struct AttemptExceeded {
  AttemptRef ref;
  Excess excess;
};
// The machine, sampled by the shell while a job asks for it (Agent::WantsLoad).
struct LoadSampled {
  uint64_t free_memory = 0;
  double load = 0;
};
// The node's disk has no room for what tasks write, and why; empty: it has.
struct RoomLooked {
  std::string no_room;
};
// The terminal cannot take more output for now, or can again.
struct OutputBlocked {
  bool blocked = false;
};

using Event =
    std::variant<AttemptAdopted, JobOpened, JobClosed, LeaseArrived, GoArrived, RecallArrived,
                 StopArrived, DropArrived, FreezeArrived, AllPaused, AttemptStarted, AttemptOver,
                 OrderTakenBack, MemorySampled, LoadSampled, RoomLooked, OutputBlocked,
                 AttemptExceeded, ResizeArrived, AttemptResized>;

// ---- Orders and reports ------------------------------------------------------------------------

struct StartAttempt {
  AttemptRef ref;
  uint16_t slot = 0;
  Needs needs;
  std::vector<NamedOffer> given;  // for each named need the indices that are the task's
  bool tell_start = false;        // AttemptStarted is wanted
  bool sample_memory = false;     // MemorySampled is wanted
  std::shared_ptr<const GangPart> part = nullptr;
  bool ahead = false;                       // its slot starts it when the one before has ended
  std::optional<Duration> time_limit = {};  // for the node's next process
};
// A part of a gang has its slot and its resources. It waits there for GoArrived; one that has heard
// it before starts at once.
struct ReportRoom {
  AttemptRef ref;
};
struct Withdraw {
  AttemptRef ref;
};
struct EndAttempt {
  AttemptRef ref;
  bool kill = false;  // KILL to everything; else TERM to the command
  Cause cause = Cause::kStopped;
};
struct FreezeAttempt {
  AttemptRef ref;
  bool frozen = false;
  Instant stop = {};  // of FreezeArrived
};
// The limits and processors of an attempt are to be these from now on; AttemptResized follows.
struct ResizeAttempt {
  AttemptRef ref;
  uint16_t slot = 0;
  Needs needs;
  std::vector<NamedOffer> given;
  std::optional<Duration> time_limit;
};
struct ReportResized {
  AttemptRef ref;
  Instant since;
  std::string refused;  // why, in words; empty: it is done
};
struct ReportEnd {
  AttemptEnd end;
  bool is_part = false;  // of a gang
};
struct ReportReturned {
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;
};
struct ReportSlow {
  AttemptRef ref;
};
struct ReportExcess {
  AttemptRef ref;
  Excess excess;
};
// The node starts nothing for now, and why; empty: it goes on.
struct ReportPaused {
  std::string reason;
};
// Nothing of this job is here any more, and no order of it will come before it is opened again.
struct CloseJob {
  JobId job;
};
using Order = std::variant<StartAttempt, Withdraw, EndAttempt, FreezeAttempt, ReportEnd, ReportRoom,
                           ReportReturned, ReportSlow, ReportPaused, CloseJob, ReportExcess,
                           ResizeAttempt, ReportResized>;

// An attempt that runs, as far as the agent knows.
struct Run {
  AttemptRef ref;
  Instant since;
  uint16_t slot = 0;
  bool frozen = false;
};

// Leased tasks of a job that have not started, and the reason why the first one has not. It leaves
// out the node's name.
struct Line {
  AttemptRef first;
  uint32_t tasks = 0;
  Reason why;
};

struct Input {
  Instant now;
  std::vector<Event> events;
};
struct Output {
  std::vector<Order> orders;  // in the order in which they must be carried out
  Instant wake_at = Instant::Never();
};

class Agent {
 public:
  explicit Agent(Offer offer, const Limits& limits = kLimits);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Takes the events by value: ends are moved into reports.
  void Step(Input input, Output& out);

  // A job holds starts back while memory is short or the load high: send LoadSampled every second.
  bool WantsLoad() const;
  // Attempts that run or are held ahead by slots, and leased tasks that wait for one.
  uint32_t busy() const;
  uint32_t waiting() const;
  // Jobs that are open, or of which something is here.
  size_t jobs() const;
  // Attempts that run now, by slot.
  std::vector<Run> Runs() const;
  // Tasks that have waited here since `begun` or longer, a line for each job.
  std::vector<Line> Lines(Instant begun) const;
  // The tasks of all leases that it has neither reported nor returned.
  std::vector<HeldTasks> Holds() const;
  // Those that were told to stand still.
  std::vector<HeldTasks> Frozen() const;
  // Parts of gangs that have room or run, by slot.
  std::vector<AttemptRef> PartsWithRoom() const;

  // Aborts when the state contradicts itself: resources oversold, a slot lost.
  void CheckInvariants() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace spate::agent
