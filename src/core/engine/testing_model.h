// A naive model of the engine, for its property test: everything in plain maps, told by the records
// alone, and strict. It knows nothing of queues, ranges or costs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/engine/engine.h"

namespace spate::engine {

struct NaiveTask {
  uint32_t request = 0;
  TaskState state = TaskState::kQueued;
  uint32_t attempt = 0;  // the newest number given
  uint32_t tries = 0;
  uint32_t losses = 0;
  uint32_t no_starts = 0;
  uint32_t elsewhere = 0;  // failures that cost no try
  uint32_t cut_offs = 0;   // whose time is known
  Duration cut_after;      // the longest of them
  bool pairs = false;      // waits for the same task of another job; what is reopened does not
  Instant due;             // may not be leased before
  bool cancelled = false;  // not to be queued again
  bool left_list = false;
  bool stopped = false;  // by itself
  uint32_t held = 0;     // while it is leased: the request that its node has room for
  uint32_t before = 0;   // and before a change that it has not confirmed
  bool resizes = false;  // there is such a change
  std::vector<TaskIndex> parents = {};
};

struct NaiveJob {
  std::vector<TaskClass> requests;
  std::vector<NaiveTask> tasks;
  JobPolicy policy;
  bool open = false;
  bool finished = false;
  bool cancelled = false;
  std::string user;
  std::vector<After> after;
  HoldReason held = HoldReason::kNone;
  bool stopped = false;                                  // as a whole
  std::map<uint32_t, std::vector<Duration>> walls = {};  // of attempts that succeeded, by request
  uint32_t last_success = 0;                             // the highest number of such an attempt

  JobCounts Counts() const;
};

class NaiveModel {
 public:
  // The error of this record at this point; empty when it is right. Then it is applied.
  std::string Apply(const Record& record);
  // Like Apply, and checks what only a live engine obeys: nothing is leased before it is due, from
  // a held job, or to a node that is not there.
  std::string ApplyLive(const Record& record, Instant now);

  void Join(NodeId node, const Offer& offer) { offers_[node] = offer; }
  void Lose(NodeId node) { offers_.erase(node); }
  void LoseAll() { offers_.clear(); }

  const std::map<JobId, NaiveJob>& jobs() const { return jobs_; }
  const std::map<NodeId, Offer>& offers() const { return offers_; }
  // A task that waits for one that will not succeed; empty: there is none.
  std::string WhyHopeless() const;
  // A task that runs past its deadline, and is not cancelled; empty: there is none.
  std::string WhyOverdue(Instant now) const;
  // Attempts that each node holds.
  const std::map<NodeId, std::set<AttemptRef>>& held() const { return held_; }
  // The share of the node that it holds, where 1 is a node of running tasks.
  // Tasks that change count as before, but for `changed`.
  double Load(NodeId node, const AttemptRef& changed = {}) const;
  // The total that Engine::DrainDemand has reported, without times: the classes with ready tasks.
  std::map<ClassKey, ClassDemand> Demand(Instant now) const;
  // The error in the reported time of one task of the class; empty: there is none.
  std::string WhyNotTakes(const ClassKey& key, Duration takes) const;

 private:
  uint64_t GroupRoomOf(const std::string& user) const;
  bool IsReady(const NaiveJob& job, TaskIndex index, Instant now) const;
  uint32_t RunningOf(const std::string& user) const;
  std::string Check(const Record& record) const;
  std::string CheckTasks(JobId job, const std::vector<TaskRange>& tasks, TaskState state) const;
  std::string WhyNotLeased(const Leased& leased, const NaiveJob& job, const Offer& offer,
                           Instant now) const;
  bool OthersTake(const Leased& leased, const NaiveJob& job, Instant now) const;
  std::string CheckWithdrawn(const TasksWithdrawn& record) const;
  std::string CheckEnd(const AttemptEnded& record) const;
  std::string CheckResized(const TasksResized& record, const NaiveJob& job) const;
  void Do(const JobAccepted& record);
  void Do(const JobGrown& record);
  void Do(const TasksLinked& record);
  void Do(const JobSealed& record);
  void Do(const PolicyChanged& record);
  void Do(const TasksWithdrawn& record);
  void Do(const TasksCancelled& record);
  void Do(const TasksReopened& record);
  void ForgetSuccess(const TasksReopened& record);
  void Do(const NeedsChanged& record);
  void Do(const JobHeld& record);
  void Do(const JobReleased& record);
  void Do(const JobSteered& record);
  void Do(const JobParted&) {}
  void Do(const TasksResized& record);
  void Do(const Leased& record);
  void Do(const GangLeased&) {}
  void Do(const GangReserved&) {}
  void Do(const GangPolicyChanged&) {}
  void Do(const HalfLifeChanged&) {}
  void Do(const UseCounted&) {}
  void Do(const PriorityChanged&) {}
  void Do(const ClockStepped&) {}
  void Do(const Returned& record);
  void Do(const AttemptEnded& record);
  void Do(const JobFinished& record);
  void Do(const JobCancelled& record);
  void Do(const DependencyMet& record);
  void Do(const UserChanged& record);
  void Do(const NodeDrained& record);
  void Do(const NodeUndrained& record);
  void Do(const NodeRemoved& record);
  void Do(const NodeSick& record);
  void Do(const NodeCleared& record);
  void Do(const NodeBlamed& record);

  std::map<JobId, NaiveJob> jobs_;
  std::map<NodeId, Offer> offers_;
  std::map<NodeId, std::set<AttemptRef>> held_;
  std::map<std::string, UserRule> users_;
  std::set<NodeId> drained_;
  std::set<std::pair<NodeId, JobId>> sick_;      // job 0: for all
  std::set<std::pair<NodeId, JobId>> no_start_;  // tasks of the job could not be started there
  std::map<NodeId, std::vector<Blame>> blames_;
  std::set<AttemptRef> given_;  // every attempt that was ever leased

  std::string CheckBlames(const Record& record) const;
  bool IsBlamed(NodeId node, JobId by) const;
};

}  // namespace spate::engine
