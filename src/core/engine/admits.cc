// Checks that a record follows from those before it. Apply trusts the engine's records; a journal
// that lost or changed some of its records shows this by a contradiction.
#include <algorithm>
#include <set>
#include <variant>
#include <vector>

#include "core/engine/durable.h"
#include "core/model/limits.h"
#include "core/model/ranges.h"

namespace spate::engine {
namespace {

uint64_t CountOf(const std::vector<TaskRange>& tasks) {
  uint64_t count = 0;
  for (const TaskRange& range : tasks) count += range.count;
  return count;
}

// Tasks below `end`, each named once, in any order.
bool AreDistinct(const std::vector<TaskRange>& tasks, uint32_t end) {
  uint64_t at = 0;
  bool sorted = true;
  for (const TaskRange& range : tasks) {
    if (range.count == 0 || uint64_t{range.first} + range.count > end) return false;
    sorted &= range.first >= at;
    at = range.first + range.count;
  }
  return sorted || CountOf(Normalized(tasks)) == CountOf(tasks);
}

// The job has the tasks, named once each, and all of them are as wanted.
template <typename Wanted>
bool AllAre(const JobState& job, const std::vector<TaskRange>& tasks, Wanted wanted) {
  if (!AreDistinct(tasks, job.task_count())) return false;
  return std::ranges::all_of(tasks, [&](TaskRange range) {
    TaskIndex end = range.first + range.count;
    for (TaskIndex i = range.first; i < end; ++i) {
      if (!wanted(i)) return false;
    }
    return true;
  });
}

// One run after the other over `count` tasks from `first` on, of requests that there are.
bool Cover(const std::vector<RequestRun>& runs, uint64_t first, uint64_t count, uint64_t requests) {
  uint64_t at = first;
  for (const RequestRun& run : runs) {
    if (run.first != at || run.request >= requests) return false;
    at += run.count;
  }
  return at == first + count;
}

bool IsOrder(const std::vector<TaskIndex>& order, uint32_t count) {
  if (order.empty()) return true;
  if (order.size() != count) return false;
  std::vector<bool> seen(count);
  return std::ranges::all_of(order, [&](TaskIndex i) {
    bool is_new = i < count && !seen[i];
    if (is_new) seen[i] = true;
    return is_new;
  });
}

bool IsPlan(const JobPlan& plan) {
  return plan.task_count <= kLimits.tasks_per_job &&
         Cover(plan.runs, 0, plan.task_count, plan.requests.size()) &&
         IsOrder(plan.order, plan.task_count);
}

// Sorted runs of tasks that are queued, may be reopened, or are about to end and be queued again.
bool MayChange(const JobState& job, const NeedsChanged& changed) {
  const uint64_t requests = job.request_count() + changed.new_requests.size();
  uint64_t at = 0;
  for (const RequestRun& run : changed.runs) {
    uint64_t end = uint64_t{run.first} + run.count;
    if (run.first < at || end > job.task_count() || run.request >= requests) return false;
    for (TaskIndex i = run.first; i < end; ++i) {
      TaskState state = job.StateOf(i);
      bool at_work = state == TaskState::kLeased || state == TaskState::kQueued;
      if (!at_work && !job.MayReopen(i, true) && !job.MayReopen(i, false)) return false;
    }
    at = end;
  }
  return true;
}

bool MayLease(const JobState& job, const Leased& leased) {
  bool queued = AllAre(job, leased.tasks, [&](TaskIndex i) {
    return job.StateOf(i) == TaskState::kQueued && leased.attempt > job.CurrentAttempt(i) &&
           job.graph().Left(i) == 0;
  });
  if (!queued || job.request_count() == 1) return queued;
  return std::ranges::all_of(leased.tasks, [&](TaskRange range) {
    uint32_t request = job.RequestOf(range.first);
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      if (job.RequestOf(i) != request) return false;
    }
    return true;
  });
}

// Their children were never given out. That there is no cycle is not looked for: tasks of one stay
// where they are.
bool MayLink(const JobState& job, const std::vector<Edge>& edges) {
  if (edges.size() > kLimits.edges_per_job - job.graph().edge_count()) return false;
  return std::ranges::all_of(edges, [&](const Edge& edge) {
    return edge.parent < job.task_count() && edge.child < job.task_count() &&
           job.StateOf(edge.child) == TaskState::kQueued &&
           job.CurrentAttempt(edge.child) == Attempt(0);
  });
}

class Admission {
 public:
  explicit Admission(const Durable& durable) : durable_(durable) {}

  bool operator()(const JobAccepted& r) const {
    return durable_.FindJob(r.job) == nullptr && IsPlan(r.plan);
  }
  bool operator()(const JobGrown& r) const {
    const JobState* job = durable_.FindJob(r.job);
    return job != nullptr && r.count <= kLimits.tasks_per_job - job->task_count() &&
           Cover(r.runs, job->task_count(), r.count, job->request_count() + r.new_requests.size());
  }
  bool operator()(const TasksLinked& r) const {
    const JobState* job = durable_.FindJob(r.job);
    return job != nullptr && MayLink(*job, r.edges);
  }
  bool operator()(const NeedsChanged& r) const {
    const JobState* job = durable_.FindJob(r.job);
    return job != nullptr && MayChange(*job, r);
  }
  bool operator()(const TasksWithdrawn& r) const {
    return All(r, [&](const JobState& job, TaskIndex i) {
      TaskState state = job.StateOf(i);
      if (r.left_list) return state != TaskState::kLeased && !job.LeftList(i);
      return state == TaskState::kQueued;
    });
  }
  bool operator()(const TasksCancelled& r) const {
    return All(
        r, [](const JobState& job, TaskIndex i) { return job.StateOf(i) == TaskState::kLeased; });
  }
  bool operator()(const JobSteered& r) const {
    const bool stops = r.what == Steering::kStop;
    return All(r, [stops](const JobState& job, TaskIndex i) {
      const TaskState state = job.StateOf(i);
      return !stops || state == TaskState::kQueued || state == TaskState::kLeased;
    });
  }
  bool operator()(const TasksResized& r) const {
    if (r.stage == ResizeStage::kQueued) {
      return All(
          r, [](const JobState& job, TaskIndex i) { return job.StateOf(i) == TaskState::kQueued; });
    }
    const JobState* job = durable_.FindJob(r.job);
    if (job == nullptr || r.tasks.size() != 1 || r.tasks.front().count != 1) return false;
    const TaskIndex index = r.tasks.front().first;
    if (!IsCurrent(durable_.NodeOf(r.node), *job, {r.job, index, r.attempt})) return false;
    if (job->GangOf(index) != nullptr || r.request >= job->request_count()) return false;
    const Sizes::Change* change = job->ResizeOf(index);
    const bool ordered = change != nullptr && change->fact.stage == ResizeStage::kOrdered;
    return ordered == (r.stage != ResizeStage::kOrdered);
  }
  bool operator()(const TasksReopened& r) const {
    const JobState* reopened = durable_.FindJob(r.job);
    const bool waits = std::ranges::any_of(r.after, [&](const After& each) {
      return each.job == r.job || reopened == nullptr || reopened->WaitsFor(each);
    });
    return !waits &&
           All(r, [&](const JobState& job, TaskIndex i) { return job.MayReopen(i, r.succeeded); });
  }
  bool operator()(const Leased& r) const {
    const JobState* job = durable_.FindJob(r.job);
    return job != nullptr && MayLease(*job, r);
  }
  bool operator()(const GangLeased& r) const {
    const JobState* job = durable_.FindJob(r.job);
    if (job == nullptr || !MayLease(*job, {NodeId(), r.job, r.attempt, {{r.index, 1}}})) {
      return false;
    }
    std::set<NodeId> nodes;
    const bool parts = std::ranges::all_of(r.parts, [&](const GangLeased::Part& part) {
      return part.procs > 0 && nodes.insert(part.node).second;
    });
    return parts && !r.parts.empty() && job->IsGang(job->RequestOf(r.index));
  }
  bool operator()(const GangReserved& r) const {
    const JobState* job = durable_.FindJob(r.job);
    return job != nullptr && !job->finished() && r.index < job->task_count();
  }
  bool operator()(const Returned& r) const {
    const NodeRecord& node = durable_.NodeOf(r.node);
    return All(r, [&](const JobState& job, TaskIndex i) {
      return IsCurrent(node, job, {r.job, i, r.attempt}) && job.GangOf(i) == nullptr;
    });
  }
  bool operator()(const AttemptEnded& r) const {
    const JobState* job = durable_.FindJob(r.end.ref.job);
    if (job == nullptr || !IsCurrent(durable_.NodeOf(r.node), *job, r.end.ref)) return false;
    const GangRun* gang = job->GangOf(r.end.ref.index);
    return (r.verdict == Verdict::kPart) == (gang != nullptr && gang->left > 1);
  }
  bool operator()(const NodeSick& r) const {
    return r.job == JobId() || durable_.FindJob(r.job) != nullptr;
  }
  bool operator()(const NodeRemoved& r) const { return durable_.NodeOf(r.node).leases.empty(); }
  bool operator()(const NodeCleared&) const { return true; }
  // Others name a job, which must be there, or change one value of a node or a user.
  template <typename Other>
  bool operator()(const Other& r) const {
    if constexpr (requires { r.job; }) return durable_.FindJob(r.job) != nullptr;
    return true;
  }

 private:
  template <typename R, typename Wanted>
  bool All(const R& r, Wanted wanted) const {
    const JobState* job = durable_.FindJob(r.job);
    return job != nullptr && AllAre(*job, r.tasks, [&](TaskIndex i) { return wanted(*job, i); });
  }

  const Durable& durable_;
};

}  // namespace

bool Durable::Admits(const Record& record) const { return std::visit(Admission(*this), record); }

}  // namespace spate::engine
