// Changes of durable state by each record. The only place that changes what is durable.
#include "core/engine/durable.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace spate::engine {

void Changes::Clear() {
  uses.clear();
  jobs.clear();
  stirred.Clear();
}

class Durable::Applier {
 public:
  Applier(Durable& durable, Changes& changes) : durable_(durable), changes_(changes) {}

  void operator()(const JobAccepted& record) {
    CHECK(!durable_.jobs_.contains(record.job));
    Stirred& stirred = Touch(record.job);
    JobState& job =
        durable_.jobs_.try_emplace(record.job, record.job, record.plan, stirred).first->second;
    for (const After& after : record.plan.after) {
      durable_.dependents_[after.job].insert(record.job);
    }
    BlockTasks(job, 0, job.task_count(), stirred);
  }
  void operator()(const JobGrown& record) {
    JobState& job = JobOf(record.job);
    TaskIndex first = job.task_count();
    Stirred& stirred = Touch(record.job);
    job.Grow(record, stirred);
    BlockTasks(job, first, job.task_count(), stirred);
  }
  void operator()(const TasksLinked& record) {
    JobOf(record.job).Link(record.edges, Touch(record.job));
  }
  void operator()(const JobSealed& record) { Touched(record.job).Seal(); }
  void operator()(const PolicyChanged& record) { Touched(record.job).SetPolicy(record.policy); }
  void operator()(const TasksWithdrawn& record) {
    JobState& job = JobOf(record.job);
    Stirred& stirred = Touch(record.job);
    record.left_list ? job.Leave(record.tasks, stirred) : job.Withdraw(record.tasks, stirred);
  }
  void operator()(const TasksCancelled& record) { Touched(record.job).CancelLeased(record.tasks); }
  void operator()(const TasksReopened& record) {
    JobState& job = JobOf(record.job);
    Stirred& stirred = Touch(record.job);
    job.Reopen(record, stirred);
    if (record.succeeded) BlockPairs(record);
    if (record.after.empty()) return;
    job.WaitAgain(record.after);
    for (const After& after : record.after) durable_.dependents_[after.job].insert(record.job);
    for (const TaskRange& range : record.tasks) {
      BlockTasks(job, range.first, range.first + range.count, stirred);
    }
  }
  void operator()(const NeedsChanged& record) {
    JobOf(record.job).ChangeNeeds(record, Touch(record.job));
  }
  void operator()(const JobHeld& record) { Touched(record.job).Hold(record.reason); }
  void operator()(const JobReleased& record) { Touched(record.job).Release(); }
  void operator()(const JobSteered& record) {
    JobState& job = JobOf(record.job);
    Stirred& stirred = Touch(record.job);
    switch (record.what) {
      case Steering::kStop:
        return job.Stop(record, stirred);
      case Steering::kContinue:
        for (TaskIndex index : job.Continue(record)) Unblock(job, index, stirred);
        return;
      case Steering::kKill:
        return job.Kill(record.tasks);
      case Steering::kSignal:
      case Steering::kExceed:
        return;
    }
  }
  void operator()(const JobParted& record) { Touched(record.job).Part(record.from); }
  void operator()(const TasksResized& record) {
    JobState& job = JobOf(record.job);
    Touch(record.job);
    if (record.stage == ResizeStage::kQueued) return job.Resize(record, 0);
    const AttemptRef ref{record.job, record.tasks.front().first, record.attempt};
    LeasedRange& lease = LeaseOfOne(record.node, ref);
    const uint32_t before = std::exchange(lease.request, record.request);
    job.Resize(record, before);
    for (const bool leased : {false, true}) {
      changes_.uses.push_back({.node = record.node,
                               .job = record.job,
                               .request = leased ? record.request : before,
                               .tasks = 1,
                               .leased = leased,
                               .index = ref.index,
                               .resized = true});
    }
  }
  void operator()(const GangLeased& record) {
    JobState& job = JobOf(record.job);
    const uint32_t request = job.RequestOf(record.index);
    job.LeaseGang(record, request, Touch(record.job));
    uint64_t sequence = ++durable_.leases_ << 32;
    for (const GangLeased::Part& part : record.parts) {
      LeasedRange leased{.count = 1, .left = 1, .request = request, .sequence = sequence++};
      leased.procs = part.procs;
      durable_.nodes_[part.node].leases[{record.job, record.attempt, record.index}] = leased;
      changes_.uses.push_back({.node = part.node,
                               .job = record.job,
                               .request = request,
                               .tasks = &part == &record.parts.front() ? 1u : 0u,
                               .leased = true,
                               .procs = part.procs,
                               .index = record.index});
    }
    std::erase_if(durable_.heads_, [&](const HeadGang& head) {
      return head.job == record.job && head.index == record.index;
    });
  }
  void operator()(const GangPolicyChanged& record) { durable_.gang_policy_ = record.policy; }
  void operator()(const HalfLifeChanged& record) { durable_.half_life_ = record.half_life; }
  void operator()(const UseCounted& record) { durable_.used_ = record; }
  void operator()(const ClockStepped&) {}
  void operator()(const PriorityChanged& record) {
    JobOf(record.job).SetPriority(record.priority);
    Touch(record.job);
  }
  void operator()(const GangReserved& record) {
    const bool again = std::ranges::any_of(durable_.heads_, [&](const HeadGang& head) {
      return head.job == record.job && head.index == record.index;
    });
    DropHead(record.job);
    // The first time the reason is why it is the first of those that wait.
    durable_.heads_.push_back(
        {record.job, record.index, record.start, record.told(), again ? record.reason : ""});
  }
  void operator()(const Leased& record) { Lease(record, ++durable_.leases_ << 32); }
  void Extend(const Leased& so_far, const Leased& more) {
    LeaseKey first{more.job, more.attempt, so_far.tasks.front().first};
    uint64_t sequence = durable_.NodeOf(more.node).leases.at(first).sequence;
    Lease(more, sequence + so_far.tasks.size());
  }
  void Lease(const Leased& record, uint64_t sequence) {
    JobState& job = JobOf(record.job);
    NodeRecord& node = durable_.nodes_[record.node];
    Stirred& stirred = Touch(record.job);
    for (TaskRange range : record.tasks) {
      uint32_t request = job.RequestOf(range.first);
      job.Lease(range, request, record.attempt, stirred);
      LeasedRange leased{range.count, range.count, request, sequence++};
      leased.lossy = range.count == 1 && job.Lossy(range.first);
      node.leases[{record.job, record.attempt, range.first}] = leased;
      changes_.uses.push_back({record.node, record.job, request, range.count, true, leased.lossy});
    }
  }
  void operator()(const Returned& record) {
    JobState& job = JobOf(record.job);
    for (TaskRange range : record.tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        TakeFromLease(record.node, {record.job, i, record.attempt});
      }
      job.Return(range, record.attempt, Touch(record.job));
    }
  }
  void operator()(const AttemptEnded& record) {
    const AttemptRef& ref = record.end.ref;
    JobState& job = JobOf(ref.job);
    TakeFromLease(record.node, ref);
    job.End(record, Touch(ref.job));
    if (record.verdict != Verdict::kSucceeded) return;
    job.graph().ForChildren(ref.index,
                            [&](TaskIndex child) { Unblock(job, child, changes_.stirred); });
    if (durable_.dependents_.empty()) return;
    auto dependents = durable_.dependents_.find(ref.job);
    if (dependents == durable_.dependents_.end()) return;
    for (JobId id : dependents->second) {
      JobState& dependent = JobOf(id);
      if (dependent.WaitsForEachOf(ref.job)) Unblock(dependent, ref.index, Touch(id));
    }
  }
  void operator()(const JobFinished& record) {
    JobState& job = Touched(record.job);
    DropWaits(job);
    DropHead(record.job);
    job.Finish();
  }
  void operator()(const JobCancelled& record) {
    JobState& job = JobOf(record.job);
    DropWaits(job);
    job.Cancel(Touch(record.job));
  }
  void operator()(const DependencyMet& record) {
    JobState& job = JobOf(record.job);
    bool each = job.WaitsForEachOf(record.on);
    DropDependent(record.on, record.job);
    job.Meet(record.on);
    Stirred& stirred = Touch(record.job);
    for (TaskIndex i = 0; each && i < job.task_count(); ++i) Unblock(job, i, stirred);
  }
  void operator()(const UserChanged& record) { durable_.rules_[record.user] = record.rule; }
  void operator()(const NodeDrained& record) {
    NodeRecord& node = durable_.nodes_[record.node];
    node.drained = true;
    node.why_drained = record.reason;
  }
  void operator()(const NodeUndrained& record) {
    durable_.nodes_[record.node].drained = false;
    durable_.nodes_[record.node].why_drained.clear();
    DropEmpty(record.node);
  }
  void operator()(const NodeRemoved& record) {
    TrustAll(record.node, JobId());
    CHECK(durable_.NodeOf(record.node).leases.empty());
    durable_.nodes_.erase(record.node);
  }
  void operator()(const NodeSick& record) {
    if (record.job == JobId()) {
      durable_.nodes_[record.node].sick = record.text;
    } else {
      Touched(record.job).SetAside(record.node);
    }
  }
  void operator()(const NodeCleared& record) {
    TrustAll(record.node, record.job);
    for (auto node = durable_.nodes_.begin(); node != durable_.nodes_.end();) {
      NodeId id = (node++)->first;
      if (record.job != JobId() || (record.node != NodeId() && record.node != id)) continue;
      durable_.nodes_[id].sick.clear();
      durable_.nodes_[id].blames.clear();
      DropEmpty(id);
    }
  }
  void operator()(const NodeBlamed& record) {
    durable_.nodes_[record.node].blames = record.blames;
    DropEmpty(record.node);
  }

 private:
  void DropHead(JobId id) {
    std::erase_if(durable_.heads_, [id](const HeadGang& head) { return head.job == id; });
  }
  JobState& JobOf(JobId id) {
    auto job = durable_.jobs_.find(id);
    CHECK(job != durable_.jobs_.end());
    return job->second;
  }
  Stirred& Touch(JobId id) {
    if (changes_.jobs.empty() || changes_.jobs.back() != id) changes_.jobs.push_back(id);
    return changes_.stirred;
  }
  JobState& Touched(JobId id) {
    Touch(id);
    return JobOf(id);
  }
  // 0: every node; of every job.
  void TrustAll(NodeId node, JobId only) {
    for (auto& [id, job] : durable_.jobs_) {
      if ((only != JobId() && only != id) || job.troubles().empty()) continue;
      job.Trust(node);
      changes_.jobs.push_back(id);
    }
  }
  void DropEmpty(NodeId id) {
    auto node = durable_.nodes_.find(id);
    if (node->second.empty()) durable_.nodes_.erase(node);
  }
  // The task's lease, which is made a range of its own.
  LeasedRange& LeaseOfOne(NodeId id, const AttemptRef& ref) {
    NodeRecord& node = durable_.nodes_.at(id);
    const auto found = FindLease(node, ref);
    CHECK(found != node.leases.end());
    const auto [key, whole] = *found;
    if (whole.count == 1) return node.leases.at(key);
    node.leases.erase(found);
    const JobState& job = JobOf(ref.job);
    auto add = [&](TaskIndex first, TaskIndex end) {
      LeasedRange part = whole;
      part.count = end - first;
      part.left = 0;
      for (TaskIndex i = first; i < end; ++i) {
        part.left += job.StateOf(i) == TaskState::kLeased && job.CurrentAttempt(i) == ref.attempt;
      }
      if (part.left > 0) node.leases[{ref.job, ref.attempt, first}] = part;
    };
    add(key.first, ref.index);
    add(ref.index, ref.index + 1);
    add(ref.index + 1, key.first + whole.count);
    return node.leases.at({ref.job, ref.attempt, ref.index});
  }
  void TakeFromLease(NodeId id, const AttemptRef& ref) {
    auto node = durable_.nodes_.find(id);
    CHECK(node != durable_.nodes_.end());
    Leases& leases = node->second.leases;
    auto found = FindLease(node->second, ref);
    CHECK(found != leases.end());
    auto it = leases.erase(found, found);  // the same, to change it
    bool gone = --it->second.left == 0;
    const GangRun* gang = it->second.procs > 0 ? JobOf(ref.job).GangOf(ref.index) : nullptr;
    changes_.uses.push_back({.node = id,
                             .job = ref.job,
                             .request = it->second.request,
                             .tasks = gang == nullptr || gang->left == 1 ? 1u : 0u,
                             .leased = false,
                             .lossy = gone && it->second.lossy,
                             .procs = it->second.procs,
                             .index = ref.index});
    if (!gone) return;
    leases.erase(it);
    if (node->second.empty()) durable_.nodes_.erase(node);
  }
  void DropWaits(const JobState& job) {
    for (const After& after : job.after()) DropDependent(after.job, job.id());
  }
  void DropDependent(JobId on, JobId job) {
    auto it = durable_.dependents_.find(on);
    if (it == durable_.dependents_.end()) return;
    it->second.erase(job);
    if (it->second.empty()) durable_.dependents_.erase(it);
  }
  // Task i of a job that waits for each task of another one waits for task i of that.
  void BlockTasks(JobState& job, TaskIndex first, TaskIndex end, Stirred& stirred) {
    bool each = std::any_of(job.after().begin(), job.after().end(),
                            [&](const After& after) { return after.kind == AfterKind::kEach; });
    if (!each) return;
    for (TaskIndex i = first; i < end; ++i) {
      if (job.StateOf(i) == TaskState::kQueued) job.Block(i, stirred);
    }
    for (TaskIndex i = first; i < end; ++i) Unblock(job, i, stirred);
  }
  // Tasks of other jobs that wait for theirs, and have not been given out, wait again.
  void BlockPairs(const TasksReopened& record) {
    auto dependents = durable_.dependents_.find(record.job);
    if (dependents == durable_.dependents_.end()) return;
    for (JobId id : dependents->second) {
      JobState& dependent = JobOf(id);
      if (!dependent.WaitsForEachOf(record.job)) continue;
      for (const TaskRange& range : record.tasks) {
        const TaskIndex end = std::min(range.first + range.count, dependent.task_count());
        for (TaskIndex i = range.first; i < end; ++i) {
          if (dependent.StateOf(i) == TaskState::kQueued) dependent.Block(i, Touch(id));
        }
      }
    }
  }
  void Unblock(JobState& job, TaskIndex index, Stirred& stirred) {
    if (index >= job.task_count() || !job.Blocked(index)) return;
    for (const After& after : job.after()) {
      if (after.kind != AfterKind::kEach) continue;
      const JobState* other = durable_.FindJob(after.job);
      if (other == nullptr || index >= other->task_count()) return;
      if (other->StateOf(index) != TaskState::kSucceeded) return;
    }
    job.Unblock(index, stirred);
  }

  Durable& durable_;
  Changes& changes_;
};

void Durable::Apply(const Record& record, Changes& changes) {
  std::visit(Applier(*this, changes), record);
}

void Durable::Extend(const Leased& so_far, const Leased& more, Changes& changes) {
  Applier(*this, changes).Extend(so_far, more);
}

void Durable::Unload(JobId id) { jobs_.erase(id); }

void Durable::Reload(JobId id, Durable& past) {
  CHECK(!jobs_.contains(id));
  jobs_.insert(past.jobs_.extract(id));
}

// ---- Questions

const JobState* Durable::FindJob(JobId id) const {
  auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

const NodeRecord& Durable::NodeOf(NodeId id) const {
  static const NodeRecord kNone;
  auto it = nodes_.find(id);
  return it == nodes_.end() ? kNone : it->second;
}

bool NodeRecord::IsBlamedBy(JobId job) const {
  return std::ranges::any_of(blames, [job](const Blame& blame) { return blame.by == job; });
}

Leases::const_iterator FindLease(const NodeRecord& node, const AttemptRef& ref) {
  auto it = node.leases.upper_bound({ref.job, ref.attempt, ref.index});
  if (it == node.leases.begin()) return node.leases.end();
  --it;
  bool inside = it->first.job == ref.job && it->first.attempt == ref.attempt &&
                ref.index < it->first.first + it->second.count;
  return inside ? it : node.leases.end();
}

bool IsCurrent(const NodeRecord& node, const JobState& job, const AttemptRef& ref) {
  return ref.index < job.task_count() && job.StateOf(ref.index) == TaskState::kLeased &&
         job.CurrentAttempt(ref.index) == ref.attempt && FindLease(node, ref) != node.leases.end();
}

std::optional<HeadGang> Durable::head_gang() const {
  for (auto head = heads_.rbegin(); head != heads_.rend(); ++head) {
    if (jobs_.at(head->job).StateOf(head->index) == TaskState::kQueued) return *head;
  }
  return std::nullopt;
}

std::vector<HeadGang> Durable::head_gangs() const {
  std::vector<HeadGang> waiting;
  for (auto head = heads_.rbegin(); head != heads_.rend(); ++head) {
    if (jobs_.at(head->job).StateOf(head->index) == TaskState::kQueued) waiting.push_back(*head);
  }
  return waiting;
}

void Durable::CheckInvariants() const {
  std::map<JobId, uint64_t> leased;
  std::map<std::pair<JobId, TaskIndex>, uint32_t> parts;
  for (const auto& [id, node] : nodes_) {
    CHECK(!node.empty());
    for (const auto& [key, range] : node.leases) {
      const JobState* job = FindJob(key.job);
      CHECK(job != nullptr);
      uint32_t left = 0;
      for (TaskIndex i = key.first; i < key.first + range.count; ++i) {
        left += job->StateOf(i) == TaskState::kLeased && job->CurrentAttempt(i) == key.attempt;
      }
      CHECK(left == range.left);
      CHECK(left > 0);
      CHECK((range.procs > 0) == (job->GangOf(key.first) != nullptr));
      bool again = range.procs > 0 && parts[{key.job, key.first}]++ > 0;
      leased[key.job] += again ? 0 : left;
    }
  }
  for (const auto& [gang, left] : parts) {
    CHECK(FindJob(gang.first)->GangOf(gang.second)->left == left);
  }
  std::set<JobId> with_head;
  for (const HeadGang& head : heads_) {
    CHECK(with_head.insert(head.job).second);
    CHECK(!jobs_.at(head.job).finished());
  }
  for (const auto& [id, job] : jobs_) {
    job.CheckInvariants();
    CHECK(leased[id] == job.counts().leased);
    CHECK(!job.finished() || job.AllEnded());
    for (const After& after : job.after()) CHECK(dependents_.at(after.job).contains(id));
  }
}

const UserRule* Durable::RuleOf(const std::string& user) const {
  auto rule = rules_.find(user);
  if (rule == rules_.end() && !IsGroup(user)) rule = rules_.find(kNewUsers);
  return rule == rules_.end() ? nullptr : &rule->second;
}

uint64_t Durable::Digest() const {
  std::hash<std::string> text;
  uint64_t hash = 0;
  auto mix = [&hash](uint64_t value) { hash = hash * 0xff51afd7ed558ccdu + value; };
  for (const auto& [id, job] : jobs_) mix(job.Digest());
  for (const auto& [name, rule] : rules_) {
    const auto& [weight, max_running, max_queued, max_output, group, may_add_pools] = rule;
    mix(text(name) + weight * 3 + max_running * 5 + max_queued * 7 + max_output * 11);
    mix(text(group) + may_add_pools);
  }
  for (const auto& [id, node] : nodes_) {
    const auto& [leases, drained, why_drained, sick, blames] = node;
    mix(id.value * 2 + drained);
    mix(text(sick));
    mix(text(why_drained) * 3);
    for (const auto& [by, user] : blames) mix(text(user) + by.value);
    // In the order in which they were given: how many there were before does not matter.
    std::vector<std::pair<uint64_t, LeaseKey>> order;
    for (const auto& [key, range] : leases) order.emplace_back(range.sequence, key);
    std::sort(order.begin(), order.end());
    for (const auto& [sequence, key] : order) {
      const auto& [count, left, request, number, lossy, procs] = leases.at(key);
      mix(uint64_t{key.job.value} << 32 | key.first);
      mix(uint64_t{key.attempt.value} << 32 | request);
      mix(uint64_t{count} << 32 | left << 1 | lossy);
      mix(procs);
    }
  }
  for (const auto& [on, jobs] : dependents_) {
    for (JobId job : jobs) mix(uint64_t{on.value} << 32 | job.value);
  }
  mix(static_cast<uint64_t>(gang_policy_));
  mix(static_cast<uint64_t>(half_life_.value_or(Duration{-1}).ns));
  mix(static_cast<uint64_t>(used_.at.ns));
  for (const auto& [user, use] : used_.users) mix(text(user) + use);
  for (const auto& [job, index, start, expected, later] : heads_) {
    mix(uint64_t{job.value} << 32 | index);
    mix(static_cast<uint64_t>(start.ns));
    mix(static_cast<uint64_t>(expected.ns));
    mix(text(later));
  }
  return hash;
}

uint64_t Durable::StateBytes() const {
  uint64_t bytes = sizeof(*this);
  for (const auto& [id, job] : jobs_) bytes += job.StateBytes();
  for (const auto& [id, node] : nodes_) {
    bytes += 128 + node.leases.size() * 96 + node.blames.size() * sizeof(Blame);
  }
  return bytes;
}

}  // namespace spate::engine
