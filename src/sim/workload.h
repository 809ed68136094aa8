// Workload: the jobs of a simulated world, and what each attempt does when it runs. All of it is a
// function of the options (and so of the seed), whatever happens in between: a restart finds the
// same list of commands, and a task that fails always fails in every life.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "core/model/attempt.h"
#include "core/model/gang.h"
#include "core/model/graph.h"
#include "core/model/job.h"
#include "sim/options.h"

namespace spate::sim {

// Behaviour of an attempt that nobody ends.
struct Behaviour {
  Duration duration;
  Cause cause = Cause::kSuccess;
  int32_t status = 0;
  bool vanishes = false;  // its shepherd is killed when `duration` is over
  bool ignores_term = false;
  uint64_t memory = 0;  // what a sample of it shows
  uint32_t output_bytes = 0;
  uint32_t failed_rank = 0;  // of the part's
};

struct SimJob {
  JobId id;
  JobPolicy policy;
  std::shared_ptr<const JobSettings> settings;
  std::vector<TaskClass> requests;
  bool graph = false;  // tasks wait for others of it
  bool shuffled = false;
  bool open = false;
  // The number of tasks after each addition, ascending; the first is what is submitted. Those of
  // an open job come one after the other until it is sealed.
  std::vector<uint32_t> totals;
  uint32_t list_total = 0;  // with --resume and a longer list: at most so many in the end
  // In a hub.
  std::string user;
  int32_t priority = 0;
  std::vector<After> after;  // jobs of smaller numbers
  Duration takes;            // each attempt, which succeeds; zero: as the options have it
};

// A pool of pilots.
struct SimPool {
  std::string name;
  std::string user;        // whose tasks it serves; "*": everybody's
  Offer offer;             // of its nodes
  bool described = false;  // its owner says what they offer, else the first one shows it
  uint32_t max_pilots = 1;
  uint32_t min_pilots = 0;
  uint32_t backlog = 1;
  Duration time_limit;
  Duration idle_exit;
  bool chain = false;
  bool brief = false;  // it is added and removed again and again, and is gone in the end
  // Number of its pilots when all work is done.
  uint32_t at_rest() const { return brief ? 0 : min_pilots; }
};

class Workload {
 public:
  explicit Workload(const Options& options);

  const std::vector<SimJob>& jobs() const { return jobs_; }
  const SimJob& job(JobId id) const { return jobs_[id.value - 1]; }
  const std::vector<Offer>& offers() const { return offers_; }  // of nodes 1, 2, ...
  const std::vector<SimPool>& pools() const { return pools_; }
  uint32_t pause_after_failures() const { return pause_after_failures_; }  // of a hub's jobs

  // The job with its first totals.front() tasks.
  JobPlan PlanOf(const SimJob& job) const;
  // The requests of tasks first .. first+count-1.
  std::vector<RequestRun> RunsOf(const SimJob& job, TaskIndex first, uint32_t count) const;
  // Parents of a task: tasks of the same job that exist as soon as it does.
  std::vector<TaskIndex> ParentsOf(JobId job, TaskIndex index) const;
  // The edges of tasks first .. first+count-1 to their parents.
  std::vector<Edge> EdgesOf(const SimJob& job, TaskIndex first, uint32_t count) const;
  std::string RowOf(JobId job, TaskIndex index) const;
  bool IsBadRow(JobId job, TaskIndex index) const;  // it cannot be expanded: the task fails
  // The last word of the command that this task runs.
  static std::string WordOf(JobId job, TaskIndex index);
  // `part`: what this node runs of a gang; null: it is none.
  Behaviour BehaviourOf(const AttemptRef& ref, const Needs& needs, NodeId node,
                        const GangPart* part) const;
  // A task's class as its person wrote it.
  const TaskClass& ClassOf(JobId job, TaskIndex index) const;
  // "u1", "u2", ...
  static std::string UserName(uint32_t number);
  // Those that greedy users add (greed.h).
  bool IsGreedy(JobId job) const { return job.value > options_.jobs; }
  // Idle nodes, and as many of those of pools as there may be, have room for such a task of the
  // user. `lost`: so much of a pilot's life is of no use.
  bool FitsSomewhere(const std::string& user, const TaskClass& of_task, Duration lost = {}) const;

 private:
  void MakeOffers();
  void MakeJob(JobId id, uint32_t tasks, uint64_t seed);
  static void DrawGraph(SimJob& job, Prng prng);
  void AddGangs(SimJob& job, Prng prng) const;
  bool Holds(const TaskClass& gang) const;
  static bool HoldsIn(const SimPool& pool, const TaskClass& of_task);
  void AddTimes(SimJob& job, Prng prng) const;
  void AddDeadlines(SimJob& job, Prng prng) const;
  void MakeHubJobs();
  void AddHubPart(SimJob& job, Prng prng) const;
  void MakeStream(SimJob& job) const;
  void MakePools();
  void AddPoolNeeds(SimJob& job, Prng prng) const;
  bool IsSick(NodeId node) const;
  bool IsBlackHole(NodeId node) const;
  uint32_t RequestOf(const SimJob& job, TaskIndex index) const;
  uint64_t TaskHash(JobId job, TaskIndex index, uint64_t salt) const;

  Options options_;
  uint32_t pause_after_failures_ = 0;
  std::vector<Offer> offers_;
  std::vector<SimPool> pools_;
  std::vector<SimJob> jobs_;
};

}  // namespace spate::sim
