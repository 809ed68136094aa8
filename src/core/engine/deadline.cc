// Deadlines (TaskClass::deadline): a task that cannot end by its deadline is not accepted, is
// cancelled where it still waits, and is stopped where it runs. It is a time of the wall clock:
// when that is set, what is due by the new time is done at once, and what was done stays so.
//
// Deadlines hang on classes. Each has two moments: the last one at which its tasks may start, by
// the time that they are planned to take, and the deadline itself. Cost: at either of them the
// tasks of the class and the leases of its job, once; for what comes back into a late queue, that.
#include "core/engine/deadline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/units.h"
#include "core/engine/engine_state.h"

namespace spate::engine {

Instant LatestStart(const TaskClass& of_tasks) {
  const Instant deadline = of_tasks.deadline.value_or(Instant::Never());
  const Duration time = of_tasks.needs.time;
  if (deadline == Instant::Never() || time.ns <= 0) return deadline;
  return time.ns >= deadline.ns ? Instant{} : deadline - time;
}

// ---- What is due --------------------------------------------------------------------------------

void Deadlines::Add(const JobState& job, uint32_t first) {
  for (uint32_t i = first; i < job.request_count(); ++i) Revive(job, i);
}

void Deadlines::Revive(const JobState& job, uint32_t request) {
  const TaskClass& of_tasks = job.requests()[request];
  if (!of_tasks.deadline) return;
  const Key key{job.id(), request};
  late_.erase(key);
  due_.insert({LatestStart(of_tasks), What::kStart, key});
  due_.insert({*of_tasks.deadline, What::kEnd, key});
}

void Deadlines::Drop(const JobState& job) {
  for (uint32_t i = 0; i < job.request_count(); ++i) {
    const TaskClass& each = job.requests()[i];
    if (!each.deadline) continue;
    const Key key{job.id(), i};
    due_.erase({LatestStart(each), What::kStart, key});
    due_.erase({*each.deadline, What::kEnd, key});
    late_.erase(key);
    stirred_.erase(key);
  }
}

std::optional<Deadlines::Due> Deadlines::PopDue(Instant wall) {
  if (due_.empty() || due_.begin()->at >= wall) return std::nullopt;
  Due due = *due_.begin();
  due_.erase(due_.begin());
  if (due.what == What::kStart) late_.insert(due.key);
  return due;
}

Instant Deadlines::Next() const {
  return due_.empty() ? Instant::Never() : due_.begin()->at + Duration{1};
}

// ---- What is done about it ----------------------------------------------------------------------

namespace {

std::string WhyNotStarted(const TaskClass& of_tasks) {
  if (of_tasks.needs.time.ns <= 0) return "its deadline passed before it was started";
  return fmt::format(
      "it had not started {} before its deadline, which is its planned time (--time)",
      FormatDuration(of_tasks.needs.time));
}

void Withdraw(StepContext& step, const JobState& job, uint32_t request,
              std::vector<TaskRange> tasks) {
  if (tasks.empty()) return;
  step.Record(TasksWithdrawn{job.id(), std::move(tasks), WhyNotStarted(job.requests()[request])});
}

// The moments of one job that have come in this step.
struct DueOfJob {
  std::set<uint32_t> start;
  std::set<uint32_t> end;
};

bool Holds(const NodeRecord& node, JobId job, const std::set<uint32_t>& requests) {
  auto lease = node.leases.lower_bound({job, Attempt(), 0});
  for (; lease != node.leases.end() && lease->first.job == job; ++lease) {
    if (requests.contains(lease->second.request)) return true;
  }
  return false;
}

// Recalls the tasks of these classes that nodes have not started; they are cancelled on return.
void RecallLate(StepContext& step, const JobState& job, const std::set<uint32_t>& requests) {
  for (const auto& [id, node] : step.durable.nodes()) {
    if (!step.board.nodes.at(id).present || !Holds(node, job.id(), requests)) continue;
    step.out.sends.push_back(SendRecall{id, job.id()});
  }
}

// Stops the tasks of these classes that nodes have.
void StopOverdue(StepContext& step, const JobState& job, const std::set<uint32_t>& requests) {
  std::vector<TaskRange> tasks;
  for (const auto& [id, node] : step.durable.nodes()) {
    auto lease = node.leases.lower_bound({job.id(), Attempt(), 0});
    for (; lease != node.leases.end() && lease->first.job == job.id(); ++lease) {
      const auto& [key, range] = *lease;
      if (!requests.contains(range.request)) continue;
      for (TaskIndex i = key.first; i < key.first + range.count; ++i) {
        bool runs = IsCurrent(node, job, {key.job, i, key.attempt}) && !job.Cancelled(i);
        if (runs) AppendIndex(tasks, i);
      }
    }
  }
  if (tasks.empty()) return;
  step.Record(
      TasksCancelled{job.id(), Normalized(std::move(tasks)), "it had not ended by its deadline"});
  for (const auto& [id, node] : step.durable.nodes()) {
    if (step.board.nodes.at(id).present) StopCancelled(step, id, job);
  }
}

// A class of a job that goes on; nullptr: there is nothing to be done.
const JobState* FindAtWork(const StepContext& step, JobId id) {
  const JobState* job = step.durable.FindJob(id);
  return job == nullptr || job->finished() || job->cancelled() ? nullptr : job;
}

}  // namespace

void MeetDeadlines(StepContext& step) {
  Deadlines& deadlines = step.live.deadlines;
  std::map<JobId, DueOfJob> due;
  while (auto next = deadlines.PopDue(step.wall())) {
    DueOfJob& of_job = due[next->key.job];
    (next->what == Deadlines::What::kStart ? of_job.start : of_job.end).insert(next->key.request);
  }
  for (auto& [id, moments] : due) {
    const JobState* job = FindAtWork(step, id);
    if (job == nullptr) continue;
    for (uint32_t request : moments.start) {
      Withdraw(step, *job, request, job->QueuedTasks(request));
    }
    StopOverdue(step, *job, moments.end);
    for (uint32_t request : moments.end) moments.start.erase(request);
    RecallLate(step, *job, moments.start);
    CheckJob(step, *job);
  }
  for (const Deadlines::Key& key : deadlines.DrainStirred()) {
    const JobState* job = FindAtWork(step, key.job);
    if (job == nullptr) continue;
    if (step.wall() <= LatestStart(job->requests()[key.request])) {
      deadlines.Revive(*job, key.request);
      continue;
    }
    for (;;) {
      Head head = job->Peek(key.request, step.now, UINT32_MAX, place::kNoTurn);
      if (head.count == 0) break;
      Withdraw(step, *job, key.request, Normalized(std::move(head.tasks)));
    }
    CheckJob(step, *job);
  }
  const Instant next = deadlines.Next();
  if (next == Instant::Never()) return;
  step.out.wake_at = std::min(step.out.wake_at, next - step.live.clock_ahead);
}

Why WhyTooLate(const TaskClass& of_tasks, Instant start) {
  bool in_time =
      !of_tasks.deadline || (start < *of_tasks.deadline && start <= LatestStart(of_tasks));
  if (in_time) return {};
  const Duration left = *of_tasks.deadline - start;
  if (left.ns <= 0) return {{ReasonKind::kDeadlinePassed, {}, {Duration{} - left}}};
  return {{ReasonKind::kDeadlineTooSoon, {}, {left, of_tasks.needs.time}}};
}

std::string WhyNoFurtherTry(const StepContext& step, const JobState& job, const AttemptEnd& end,
                            bool counts) {
  const TaskClass& of_tasks = job.requests()[job.RequestOf(end.ref.index)];
  const Instant start = step.wall() + (counts ? job.policy().retry.delay : Duration());
  if (!of_tasks.deadline || start <= LatestStart(of_tasks)) return "";
  if (job.Cancelled(end.ref.index)) return "";
  return "a further try could not end by its deadline";
}

}  // namespace spate::engine
