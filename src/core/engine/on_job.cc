// What happens to jobs: submitted, grown, held, released, finished.
#include <algorithm>

#include "base/check.h"
#include "core/engine/engine_state.h"

namespace spate::engine {

void On(StepContext& step, const SubmitJob& event) {
  step.Record(JobAccepted{event.job, event.plan});
  CheckJob(step, *step.state.FindJob(event.job));
}

void On(StepContext& step, const GrowJob& event) {
  step.Record(JobGrown{event.job, event.count, event.new_requests, event.runs});
}

void On(StepContext& step, const SealJob& event) {
  step.Record(JobSealed{event.job});
  CheckJob(step, *step.state.FindJob(event.job));
}

void On(StepContext& step, const ChangePolicy& event) {
  step.Record(PolicyChanged{event.job, event.policy});
}

void On(StepContext& step, const WithdrawTasks& event) {
  step.Record(TasksWithdrawn{event.job, event.tasks});
  CheckJob(step, *step.state.FindJob(event.job));
}

void On(StepContext& step, const ReopenTasks& event) {
  step.Record(TasksReopened{event.job, event.tasks});
}

void On(StepContext& step, const HoldJob& event) {
  JobState* job = step.state.FindJob(event.job);
  if (job == nullptr || job->finished()) return;
  if (job->held() == HoldReason::kNone) {
    step.Record(JobHeld{event.job, HoldReason::kUser});
    step.out.notices.push_back(NoticeHeld{event.job, HoldReason::kUser});
  }
  RecallJob(step, event.job, event.end_running);
}

void On(StepContext& step, const ReleaseJob& event) {
  JobState* job = step.state.FindJob(event.job);
  if (job == nullptr || job->held() == HoldReason::kNone) return;
  step.Record(JobReleased{event.job});
}

void RecallJob(StepContext& step, JobId job, bool end_running) {
  for (const auto& [id, node] : step.state.nodes) {
    auto first = node.leases.lower_bound({job, Attempt(), 0});
    if (!node.present || first == node.leases.end() || first->first.job != job) continue;
    if (end_running) {
      step.out.sends.push_back(SendStop{id, job});
    } else {
      step.out.sends.push_back(SendRecall{id, job});
    }
  }
}

namespace {

bool HaltReached(const HaltRule& rule, const JobCounts& counts) {
  if (rule.when == HaltRule::When::kNever) return false;
  uint32_t count = 0;
  switch (rule.what) {
    case HaltRule::What::kFail: count = counts.failed + counts.unknown; break;
    case HaltRule::What::kSuccess: count = counts.succeeded; break;
    case HaltRule::What::kDone: count = counts.finished(); break;
  }
  if (rule.percent == 0) return count >= rule.count && count > 0;
  // As GNU parallel: a percentage counts only once three tasks have ended.
  constexpr uint32_t kLeastEnded = 3;
  return counts.finished() >= kLeastEnded &&
         uint64_t{count} * 100 >= uint64_t{rule.percent} * counts.total;
}

}  // namespace

void CheckJob(StepContext& step, JobState& job) {
  if (job.finished()) return;
  if (job.AllEnded()) {
    step.Record(JobFinished{job.id(), job.counts()});
    step.out.notices.push_back(NoticeFinished{job.id(), job.counts()});
    return;
  }
  if (job.held() != HoldReason::kNone) return;
  const JobPolicy& policy = job.policy();
  HoldReason reason = HoldReason::kNone;
  if (HaltReached(policy.halt, job.counts())) reason = HoldReason::kHaltRule;
  if (policy.max_failures > 0 && job.counts().failed >= policy.max_failures) {
    reason = HoldReason::kMaxFailures;
  }
  if (reason == HoldReason::kNone) return;
  step.Record(JobHeld{job.id(), reason});
  step.out.notices.push_back(NoticeHeld{job.id(), reason});
  bool now = reason == HoldReason::kHaltRule && policy.halt.when == HaltRule::When::kNow;
  RecallJob(step, job.id(), now);
}

}  // namespace spate::engine
