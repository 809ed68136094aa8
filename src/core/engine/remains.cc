#include "core/engine/remains.h"

#include <algorithm>
#include <utility>

#include "core/model/limits.h"
#include "core/model/ranges.h"

namespace spate::engine {
namespace {

class RemainsReader {
 public:
  explicit RemainsReader(Remains& remains) : to_(remains) {}

  void operator()(const JobAccepted& r) {
    to_.plan = r.plan;
    to_.open = r.plan.open;
    to_.tasks.resize(std::min(r.plan.task_count, kLimits.tasks_per_job));
  }
  void operator()(const JobGrown& r) {
    if (!to_.plan || r.count > kLimits.tasks_per_job - to_.tasks.size()) return;
    auto& requests = to_.plan->requests;
    auto& runs = to_.plan->runs;
    requests.insert(requests.end(), r.new_requests.begin(), r.new_requests.end());
    runs.insert(runs.end(), r.runs.begin(), r.runs.end());
    to_.tasks.resize(to_.tasks.size() + r.count);
  }
  void operator()(const TasksLinked& r) {
    for (const Edge& edge : r.edges) {
      bool known = edge.parent < to_.tasks.size() && edge.child < to_.tasks.size();
      if (known && to_.edges.size() < kLimits.edges_per_job) to_.edges.push_back(edge);
    }
  }
  void operator()(const JobSealed&) { to_.open = false; }
  void operator()(const PolicyChanged& r) {
    if (to_.plan) to_.plan->policy = r.policy;
  }
  void operator()(const DependencyMet& r) {
    if (!to_.plan) return;
    std::erase_if(to_.plan->after, [&](const After& after) { return after.job == r.on; });
  }
  void operator()(const Leased& r) {
    ForEach(r.tasks, [&](Remains::Task& task) {
      task.leased = true;
      task.attempt = std::max(task.attempt, r.attempt.value);
    });
  }
  void operator()(const Returned& r) {
    ForEach(r.tasks, [](Remains::Task& task) { task.leased = false; });
  }
  void operator()(const AttemptEnded& r) {
    const AttemptRef& ref = r.end.ref;
    if (ref.index >= to_.tasks.size()) return;
    Remains::Task& task = to_.tasks[ref.index];
    task.leased = false;
    task.attempt = std::max(task.attempt, ref.attempt.value);
    if (EndsTask(r.verdict)) task.end = r;
  }
  void operator()(const TasksWithdrawn& r) {
    ForEach(r.tasks, [](Remains::Task& task) { task.withdrawn = !task.end && !task.leased; });
  }
  void operator()(const TasksCancelled& r) {
    ForEach(r.tasks, [](Remains::Task& task) { task.withdrawn = !task.end; });
  }
  void operator()(const JobCancelled&) {
    to_.open = false;
    for (Remains::Task& task : to_.tasks) task.withdrawn = !task.end;
  }
  void operator()(const TasksReopened& r) {
    ForEach(r.tasks, [&](Remains::Task& task) {
      if (!r.succeeded && task.end && task.end->verdict == Verdict::kSucceeded) return;
      task.end.reset();
      task.withdrawn = false;
    });
  }
  template <typename Other>
  void operator()(const Other&) {}

 private:
  template <typename Change>
  void ForEach(const std::vector<TaskRange>& ranges, Change change) {
    for (const TaskRange& range : ranges) {
      uint64_t end = std::min<uint64_t>(uint64_t{range.first} + range.count, to_.tasks.size());
      for (uint64_t i = range.first; i < end; ++i) change(to_.tasks[i]);
    }
  }

  Remains& to_;
};

struct RemainsWriter {
  const Remains& from;
  const JobId job;
  Remains::History to = {};
  std::vector<TaskRange> cancelled = {}, unsure = {}, no_text = {};

  template <typename R>
  void Add(R record) {
    to.records.emplace_back(std::move(record));
  }
  void Withdraw(std::vector<TaskRange>& tasks, const char* why) {
    if (!tasks.empty()) Add(TasksWithdrawn{job, std::move(tasks), why});
  }

  // An end is kept with its lease; numbers of attempts are used up, also of those that nothing is
  // known of.
  void WriteTask(TaskIndex index) {
    const Remains::Task& task = from.tasks[index];
    const NodeId node = task.end ? task.end->node : NodeId(1);
    const Attempt attempt(task.attempt);
    if (task.attempt > 0) Add(Leased{node, job, attempt, {{index, 1}}});
    if (task.end) {
      AttemptEnded end = *task.end;
      end.end.ref.attempt = attempt;
      ++(end.verdict == Verdict::kSucceeded ? to.counts.succeeded
         : end.verdict == Verdict::kFailed  ? to.counts.failed
         : end.verdict == Verdict::kUnknown ? to.counts.unknown
                                            : to.counts.cancelled);
      return Add(std::move(end));
    }
    if (task.attempt > 0) Add(Returned{node, job, attempt, {{index, 1}}});
    const bool waits = !task.withdrawn && !task.leased && !task.no_text;
    ++(waits ? to.counts.queued : to.counts.cancelled);
    if (!waits) AppendIndex(task.withdrawn ? cancelled : task.leased ? unsure : no_text, index);
  }

  Remains::History Write(Instant held_at) {
    JobPlan plan = *from.plan;
    plan.task_count = to.counts.total = static_cast<uint32_t>(from.tasks.size());
    plan.open = from.open;
    plan.order.clear();
    const bool begun = std::ranges::any_of(from.tasks, [](auto& task) { return task.attempt > 0; });
    if (begun) plan.after.clear();
    Add(JobAccepted{job, std::move(plan)});
    if (!from.edges.empty()) Add(TasksLinked{job, from.edges});
    for (TaskIndex i = 0; i < to.counts.total; ++i) WriteTask(i);
    Withdraw(cancelled, "");
    Withdraw(unsure, "the journal was damaged, and what became of it is not known");
    Withdraw(no_text, "the journal was damaged, and the task's text with it");
    to.goes_on = to.counts.queued > 0 || from.open;
    if (to.goes_on) Add(JobHeld{job, HoldReason::kDamaged, held_at});
    if (!to.goes_on) Add(JobFinished{job, to.counts});
    return std::move(to);
  }
};

}  // namespace

void Remains::Apply(const Record& record) { std::visit(RemainsReader(*this), record); }

Remains::History Remains::Rewrite(JobId job, Instant held_at) const {
  return RemainsWriter{*this, job}.Write(held_at);
}

}  // namespace spate::engine
