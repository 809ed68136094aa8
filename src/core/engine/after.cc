// Jobs that wait for other jobs (JobPlan::after). When the other one has finished, its outcome
// settles the wait at once and for good: what must start may, what never can is cancelled.
#include <fmt/format.h>

#include <algorithm>

#include "core/engine/engine_state.h"

namespace spate::engine {
namespace {

// Why a job that waits for all of the other one never starts; empty when it may.
std::string WhyNever(const After& after, const JobCounts& counts) {
  switch (after.kind) {
    case AfterKind::kOk:
      if (counts.succeeded == counts.total) break;
      return fmt::format("job {}, which had to succeed first, did not: {} of its {} tasks did",
                         after.job.value, counts.succeeded, counts.total);
    case AfterKind::kFail:
      if (counts.failed + counts.unknown > 0) break;
      return fmt::format("job {}, which had to fail first, ended without a failed task",
                         after.job.value);
    case AfterKind::kAny:
    case AfterKind::kEach:
      break;
  }
  return "";
}

// Withdraws the tasks whose counterparts did not succeed. False when the job was cancelled.
bool SettleEach(StepContext& step, const JobState& job, const JobOutcome& outcome) {
  std::string other = fmt::format("job {}", outcome.job.value);
  if (outcome.counts.total != job.task_count()) {
    Cancel(step, job,
           fmt::format("{} has {} tasks and this one {}, so they do not go in pairs", other,
                       outcome.counts.total, job.task_count()));
    return false;
  }
  const std::vector<TaskRange> succeeded = Normalized(outcome.succeeded);
  auto lost = Select(job, {{0, job.task_count()}},
                     [&](TaskIndex i) { return job.Blocked(i) && !SortedContains(succeeded, i); });
  if (lost.empty()) return true;
  step.Record(
      TasksWithdrawn{job.id(), std::move(lost),
                     fmt::format("the task of the same number of {} did not succeed", other)});
  return true;
}

}  // namespace

JobOutcome OutcomeOf(const JobState& job) {
  JobOutcome outcome{job.id(), job.counts(), {}};
  for (TaskIndex i = 0; i < job.task_count(); ++i) {
    if (job.StateOf(i) == TaskState::kSucceeded) AppendIndex(outcome.succeeded, i);
  }
  return outcome;
}

void Settle(StepContext& step, const JobState& job, const JobOutcome& outcome) {
  // A copy: each record changes what the job waits for.
  for (const After& after : std::vector<After>(job.after())) {
    if (after.job != outcome.job) continue;
    if (after.kind == AfterKind::kEach) {
      if (!SettleEach(step, job, outcome)) return;
    } else if (std::string why = WhyNever(after, outcome.counts); !why.empty()) {
      return Cancel(step, job, std::move(why));
    }
  }
  step.Record(DependencyMet{job.id(), outcome.job});
  CheckJob(step, job);
}

void SettleKnown(StepContext& step, const JobState& job, const std::vector<JobOutcome>& outcomes) {
  for (const After& after : std::vector<After>(job.after())) {
    if (job.after().empty()) return;  // it was cancelled
    const JobState* other = step.durable.FindJob(after.job);
    auto outcome = std::find_if(outcomes.begin(), outcomes.end(),
                                [&](const JobOutcome& each) { return each.job == after.job; });
    if (other != nullptr && other != &job) {
      if (other->finished()) Settle(step, job, OutcomeOf(*other));
    } else if (outcome != outcomes.end()) {
      Settle(step, job, *outcome);
    } else if (!step.live.set_aside.contains(after.job)) {
      Cancel(step, job, fmt::format("job {}, which it waits for, is not known", after.job.value));
    }
  }
}

void SettleDependents(StepContext& step) {
  while (!step.finished.empty()) {
    JobId id = step.finished.back();
    step.finished.pop_back();
    const JobState* job = step.durable.FindJob(id);
    auto dependents = step.durable.dependents().find(id);
    if (!job->finished() || dependents == step.durable.dependents().end()) continue;
    JobOutcome outcome = OutcomeOf(*job);
    for (JobId dependent : std::set<JobId>(dependents->second)) {
      Settle(step, *step.durable.FindJob(dependent), outcome);
    }
  }
}

}  // namespace spate::engine
