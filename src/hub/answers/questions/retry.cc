// Runs tasks of a job again.
#include "hub/answers/pick.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Check(const wire::Retry& asked) {
  const bool sound = asked.time_limit_percent <= 1'000'000;
  if (!sound) return wire::Defect("time_limit_percent", "is out of range");
  return wire::CheckNeeds(wire::SetBy(asked.needs));
}

// The answer to a retry: how many tasks run again, and which jobs this one waits for again.
wire::Retry::Answer Retried(const Jobs& jobs, JobId job, uint32_t count, bool cancelled) {
  const engine::Engine& engine = jobs.engine();
  wire::Retry::Answer told{.job = job, .count = count, .waits_for = {}, .ended = {}};
  if (count == 0) return told;
  const bool is_whole = engine.Finished(job);
  for (const After& after : engine.PlannedAfter(job)) {
    const bool goes_on = engine.Counts(after.job) && !engine.Finished(after.job);
    if (goes_on) {
      if (is_whole || after.kind == AfterKind::kEach) told.waits_for.push_back(after.job);
    } else if (cancelled) {
      told.ended.push_back(after.job);
    }
  }
  return told;
}

// The tasks that a retry reopens.
Result<Chosen> ChooseFor(const Jobs& jobs, JobId job, const wire::Retry& asked) {
  using enum TaskState;
  if (!asked.succeeded) {
    return Choose(jobs, job, {asked.tasks}, {kFailed, kUnknown, kCancelled});
  }
  auto named = Choose(jobs, job, {asked.tasks},
                      {kQueued, kLeased, kSucceeded, kFailed, kCancelled, kUnknown});
  Chosen all{TRY(jobs.engine().RunAgain(job, std::move(named.tasks))), 0};
  for (const TaskRange& range : all.tasks) all.count += range.count;
  return all;
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::Retry& asked) {
  Jobs& jobs = hub.jobs;
  (void)TRY(asked.needs.AppliedTo({}));
  auto job = TRY(PickJob(jobs, asking.caller(), asked.tasks));
  auto there = asking.client.IsThere(job);
  if (!there || !*there) return there ? Status() : std::unexpected(there.error());
  auto chosen = ChooseFor(jobs, job, asked);
  if (!chosen) {
    if (jobs.engine().Finished(job)) jobs.UnloadSoon(job);
    return std::unexpected(std::move(chosen.error()));
  }
  auto& [tasks, count] = *chosen;
  const bool cancelled = Choose(jobs, job, {asked.tasks}, {TaskState::kCancelled}).count > 0;
  wire::Retry::Answer told = Retried(jobs, job, count, cancelled);
  if (tasks.empty() || asked.dry_run) {
    asking.SendAnswer(told);
    asking.End();
    if (jobs.engine().Finished(job)) jobs.UnloadSoon(job);
    return {};
  }
  if (!TRY(asking.client.MayChange(1))) return {};
  if (asked.time_limit) {
    auto set = jobs.ChangeSettings(job, [&](JobSettings& settings) {
      settings.time_limit = *asked.time_limit;
      settings.time_limit_percent = asked.time_limit_percent;
    });
    if (!set) return set;
  }
  jobs.Reopen(job, std::move(tasks), asked.needs, asked.succeeded);
  return asking.EndWhenSettled(std::move(told));
}

}  // namespace

extern const HubQuestion kRetry =
    QuestionOf<wire::Retry, Answer, Check>({.who = kOwner, .cost = kNamed});

}  // namespace spate::hub
