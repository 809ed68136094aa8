// The agent's state. Private to core/agent: agent.cc takes events in, fill.cc decides starts,
// timers.cc decides limits.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/agent/agent.h"
#include "core/agent/free_resources.h"
#include "core/agent/median.h"

namespace spate::agent {

struct Job {
  std::shared_ptr<const JobSettings> settings;
  Duration wall;       // a moving average of what ended lately; zero: not known yet
  Median walls;        // of what succeeded; fed only when a limit hangs on it
  Instant next_start;  // --delay
  bool open = false;   // as far as the hub has said
  uint64_t held = 0;   // tasks of it in waiting_ and in slots
};

// True if a job's starts depend on the machine's load or free memory.
inline bool Watches(const JobSettings& settings) {
  return settings.min_free_memory > 0 || settings.max_load > 0;
}

// Leased tasks that wait for a slot: one range of one lease.
struct Waiting {
  JobId job;
  Attempt attempt;
  Needs needs;
  TaskRange tasks;
  Instant since;                         // it came
  Instant frozen_at = Instant::Never();  // of a gang: it stands still once it starts
  Instant stop = {};
  Instant no_room = Instant::Never();  // since when its first task is the first, and does not fit
  std::shared_ptr<const GangPart> part = nullptr;  // of a gang; one task then
  bool may_go = false;                             // GoArrived came before there was room
  std::optional<Duration> time_limit = {};         // LeaseArrived::time_limit
};

// An order that was given to a slot. The first of a slot runs (or is about to); the others are
// held ahead and use the same resources after it.
struct Given {
  AttemptRef ref;
  Instant since;            // when it became the first of its slot, as far as is known
  bool told_start = false;  // `since` is exact
  bool warned = false;
  bool ending = false;       // TERM was ordered
  bool killed = false;       // KILL was ordered
  bool taking_back = false;  // a Withdraw is under way
  bool give_to_hub = false;  // when it comes back it is returned, not queued again
  Instant frozen_at = Instant::Never();
  Instant stop = {};              // FreezeArrived::stop
  Duration frozen = {};           // before that; does not count against limits
  bool froze_itself = false;      // for an excess: no order has come since
  Cause cause = Cause::kStopped;  // why it is being ended
  Instant kill_at = Instant::Never();
  bool is_part = false;                            // of a gang: alone in its slot
  std::shared_ptr<const GangPart> part = nullptr;  // null: it is none, or was adopted
  bool awaits_go = false;                          // it has room and has not been started
  std::optional<Duration> time_limit = {};         // LeaseArrived::time_limit
  std::optional<ResizeArrived> resize = {};        // what it is to have
  std::optional<Needs> resizing = {};  // the executor was told: what the slot held before
};

inline bool HasWholeNode(const std::shared_ptr<const GangPart>& part) {
  return part != nullptr && part->whole;
}

struct Slot {
  std::deque<Given> given;
  Needs needs;
  std::vector<NamedOffer> resources;
  // Runs what an earlier process started, with a shepherd that takes no further orders. The node
  // may offer less now than it did then.
  bool adopted = false;
};

class Agent::State {
 public:
  State(Offer offer, const Limits& limits);

  void Step(Input input, Output& out);
  bool WantsLoad() const;
  uint32_t busy() const;
  uint32_t waiting() const;
  size_t jobs() const { return jobs_.size(); }
  std::vector<Run> Runs() const;
  std::vector<Line> Lines(Instant begun) const;
  std::vector<HeldTasks> Holds(bool frozen_only = false) const;
  std::vector<AttemptRef> PartsWithRoom() const;
  void CheckInvariants() const;

 private:
  // agent.cc: one function for each event.
  void On(AttemptAdopted& event);
  void On(JobOpened& event);
  void On(JobClosed& event);
  void On(LeaseArrived& event);
  void On(GoArrived& event);
  void On(RecallArrived& event);
  void On(StopArrived& event);
  void On(DropArrived& event);
  void On(FreezeArrived& event);
  void On(AllPaused& event);
  void On(AttemptStarted& event);
  void On(AttemptOver& event);
  void On(OrderTakenBack& event);
  void On(MemorySampled& event);
  void On(AttemptExceeded& event);
  void On(LoadSampled& event);
  void On(RoomLooked& event) { no_room_ = std::move(event.no_room); }
  void On(OutputBlocked& event);
  void On(ResizeArrived& event);
  void On(AttemptResized& event);
  uint16_t SlotForAdopted(uint16_t wanted);
  // but_parts: parts of gangs stay.
  void ReturnWaiting(const std::function<bool(const AttemptRef&)>& meant, bool but_parts = false);
  void WithdrawAhead(const std::function<bool(const AttemptRef&)>& meant);
  void ReturnRoom(const std::function<bool(const AttemptRef&)>& meant);
  // Returns what waits, takes back what has not started, ends the rest.
  void GiveUp(const std::function<bool(const AttemptRef&)>& meant, bool kill);
  // So many of the job's tasks are gone from here.
  void Release(JobId id, uint64_t count);
  void SetSettings(Job& job, std::shared_ptr<const JobSettings> settings);
  void CloseIdle();
  // Removes the order from its slot; frees the slot when it was the last one there.
  Given Remove(uint16_t slot, size_t position);
  // The slot and position of an order; nullopt for late news. `hint` is looked at first.
  std::optional<std::pair<uint16_t, size_t>> Find(const AttemptRef& ref, uint16_t hint = 0) const;
  void CheckParts() const;

  // fill.cc: starts what may start.
  void Fill();
  bool Start(size_t position, uint16_t slot);
  bool MayJoin(const Waiting& waiting) const;
  void OrderStart(uint16_t slot, const Given& given);
  void Begin(uint16_t slot, Given& given);
  bool StartBehind();
  bool MayPass(const Waiting& each, const Waiting& first) const;
  void HoldAhead();
  void Unstick();
  std::string WhyPaused() const;
  Reason WhyInLine(const Waiting& waiting) const;
  bool WaitsForLoad() const;
  size_t AheadOf(const Job& job) const;

  // timers.cc: limits, warnings, the escalation from TERM to KILL.
  void CheckTimers();
  void CheckSlot(Slot& slot);
  std::optional<Duration> LimitOf(const Given& given) const;
  void Thaw(Given& given);
  void SetFrozen(Given& given, const FreezeArrived& event);
  void OrderEnd(Given& given, Cause cause, bool kill);
  // resize.cc: requests that change.
  void CheckResize(Slot& slot);
  void WakeAt(Instant when);

  Job& JobOf(JobId id) { return jobs_.at(id); }

  const Limits limits_;
  const Offer offer_;
  Epoch newest_epoch_;
  std::map<JobId, Job> jobs_;
  std::set<JobId> idle_;  // jobs to be closed, unless one was opened again meanwhile
  size_t watchful_ = 0;   // jobs that hold starts back by what the machine does
  std::deque<Waiting> waiting_;
  std::vector<Slot> slots_;        // slots_[0] is slot 1; those above the offer are adopted ones
  std::set<uint16_t> free_slots_;  // the lowest first, so that {%} stays small
  uint32_t whole_parts_ = 0;       // in slots, each of which has the node for itself
  FreeResources free_;
  std::optional<LoadSampled> load_;  // none: not sampled yet
  std::string no_room_;              // on the disk: why; empty: there is some
  bool output_blocked_ = false;
  Instant paused_at_ = Instant::Never();  // AllPaused
  std::string paused_;                    // the reason last reported

  // Valid during a Step.
  Instant now_;
  Output* out_ = nullptr;
};

}  // namespace spate::agent
