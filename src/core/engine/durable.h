// Engine state that must survive a restart: jobs, leases, and people's settings for nodes and
// users. It is changed by records alone (durable.cc) and knows nothing else, above all no news of
// nodes and no time: those are in live.h. So a replay gives the same state, and Digest proves it.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/engine/job_state.h"
#include "core/engine/record.h"

namespace spate::engine {

// A range of leased tasks on a node. A task belongs to it while it is leased and its newest
// attempt is the range's; the range goes when none is left.
struct LeasedRange {
  uint32_t count = 0;
  uint32_t left = 0;  // neither ended nor taken back
  uint32_t request = 0;
  // Nodes start tasks in this order: the number of the lease in the hub's life, and then of the
  // range in the lease.
  uint64_t sequence = 0;
  bool lossy = false;  // one task, which was present at a loss: nothing is to wait behind it
  uint32_t procs = 0;  // of a part of a gang; 0: it is none
};
// The attempt is part of the key: a task is given out once under each number, so ranges of one
// attempt never overlap.
struct LeaseKey {
  JobId job;
  Attempt attempt;
  TaskIndex first = 0;
  friend auto operator<=>(const LeaseKey&, const LeaseKey&) = default;
};
using Leases = std::map<LeaseKey, LeasedRange>;

// Durable state of a node.
struct NodeRecord {
  Leases leases;
  bool drained = false;
  std::string why_drained;    // in a person's words
  std::string sick;           // why no job is given to it
  std::vector<Blame> blames;  // by jobs that have ended; NodeBlamed

  bool IsBlamedBy(JobId job) const;
  bool empty() const { return leases.empty() && !drained && sick.empty() && blames.empty(); }
};

// The gang that is the first of those that wait, until it starts.
struct HeadGang {
  JobId job;
  TaskIndex index = 0;
  Instant start;      // as was last recorded,
  Instant expected;   // the same (GangReserved),
  std::string later;  // and why that is later than before; empty: it is not
  friend bool operator==(const HeadGang&, const HeadGang&) = default;
};

// Changes made by a record, for the parts that keep accounts of them.
struct Changes {
  // Tasks that are leased to a node now, or no longer.
  struct Use {
    NodeId node;
    JobId job;
    uint32_t request = 0;
    uint32_t tasks = 0;  // of a gang's parts one has it: the first to come, the last to go
    bool leased = false;
    bool lossy = false;  // LeasedRange::lossy, of all that is left
    // For a part of a gang: its processes, and its task.
    uint32_t procs = 0;
    TaskIndex index = 0;
    bool resized = false;  // it stays leased, and takes more or less
  };
  std::vector<Use> uses;
  std::vector<JobId> jobs;  // that changed
  Stirred stirred;

  void Clear();
};

class Durable {
 public:
  // ---- Questions
  const std::map<JobId, JobState>& jobs() const { return jobs_; }
  const JobState* FindJob(JobId id) const;
  const std::map<NodeId, NodeRecord>& nodes() const { return nodes_; }
  // One without anything, where nothing is remembered of it.
  const NodeRecord& NodeOf(NodeId id) const;
  const std::map<std::string, UserRule>& rules() const { return rules_; }
  // The user's own limits, or those of new users; null: there are none.
  const UserRule* RuleOf(const std::string& user) const;
  // Jobs that wait for others, by those.
  const std::map<JobId, std::set<JobId>>& dependents() const { return dependents_; }
  GangPolicy gang_policy() const { return gang_policy_; }
  std::optional<Duration> half_life() const { return half_life_; }  // nullopt: as Limits has it
  const UseCounted& used() const { return used_; }                  // the newest
  // The one that was recorded last of those that still wait.
  std::optional<HeadGang> head_gang() const;
  // And those that were recorded before it, backwards.
  std::vector<HeadGang> head_gangs() const;
  void CheckInvariants() const;
  // Covers all of it.
  uint64_t Digest() const;
  uint64_t StateBytes() const;

  // True if the record follows from those before it, so that Apply may be called. Holds for the
  // engine's own records; ask for records that were read and may be damaged.
  bool Admits(const Record& record) const;

  // ---- Changes
  void Apply(const Record& record, Changes& changes);
  // The last record that this node and attempt had is to have `more` tasks; it was `so_far` until
  // now. The state is then as if it had had them at once.
  void Extend(const Leased& so_far, const Leased& more, Changes& changes);
  // A finished job leaves memory, or comes from that of another engine. It matters to nothing but
  // its own tasks.
  void Unload(JobId id);
  void Reload(JobId id, Durable& past);
  // core/model/image.h
  template <typename Self, typename Archive>
  static void Image(Self& self, Archive& archive) {
    auto& [jobs, nodes, rules, dependents, gang_policy, heads, leases, half_life, used] = self;
    archive(jobs, nodes, rules, dependents, gang_policy, heads, leases, half_life, used);
  }

 private:
  class Applier;

  std::map<JobId, JobState> jobs_;
  std::map<NodeId, NodeRecord> nodes_;  // none that is empty
  std::map<std::string, UserRule> rules_;
  std::map<JobId, std::set<JobId>> dependents_;
  GangPolicy gang_policy_ = GangPolicy::kFair;
  // The last record of each job that has not finished; perhaps of tasks that no longer wait. Mostly
  // one: others were first before some gang that went before them. Each depends on its own job
  // alone, because a replay leaves out jobs that have finished.
  std::vector<HeadGang> heads_;
  uint64_t leases_ = 0;  // that were given out
  std::optional<Duration> half_life_;
  UseCounted used_;
};

// The lease of a node over an attempt, or end().
Leases::const_iterator FindLease(const NodeRecord& node, const AttemptRef& ref);
// The node holds this attempt and it has not ended: anything else that it says is late news.
bool IsCurrent(const NodeRecord& node, const JobState& job, const AttemptRef& ref);

}  // namespace spate::engine
