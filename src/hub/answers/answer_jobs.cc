// Changes of jobs.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "core/model/ranges.h"
#include "hub/answers/answers.h"
#include "hub/answers/pick.h"

namespace spate::hub {
namespace {

// Jobs that are forgotten at once.
constexpr size_t kMostForgotten = 10'000;

bool SetsTimes(const wire::ChangeJobs& asked) {
  return asked.set.Sets(asked.set.values.time) || asked.set.Sets(asked.set.values.deadline);
}

// Changes each job that has not ended.
wire::JobsChanged ChangeEach(Jobs& jobs, const std::vector<JobId>& picked,
                             const std::function<void(JobId)>& change) {
  wire::JobsChanged done;
  for (JobId job : picked) {
    if (jobs.known().Find(job)->finished) {
      done.ended.push_back(job);
    } else {
      change(job);
      done.changed.push_back(job);
    }
  }
  return done;
}

void SetTerms(Jobs& jobs, const wire::ChangeJobs& asked, JobId job) {
  const JobTerms& terms = asked.set.values;
  if (asked.set.Sets(terms.priority)) {
    jobs.hub().Post(engine::ChangePriority{job, terms.priority});
  }
  if (SetsTimes(asked)) {
    jobs.hub().Post(
        engine::ChangeTimes{job, asked.set.Get(terms.time), asked.set.Get(terms.deadline)});
  }
  const auto weight = asked.set.Get(terms.weight), most = asked.set.Get(terms.max_running);
  if (!weight && !most) return;
  // Parasol's maxJob 0 is a hold, which any other number ends.
  if (asked.ended_too && most && jobs.engine().Held(job) == engine::HoldReason::kUser) {
    jobs.hub().Post(engine::ReleaseJob{job});
  }
  jobs.ChangePolicy(job, [&](JobPolicy& next) {
    next.weight = weight.value_or(next.weight);
    next.max_running = most.value_or(next.max_running);
  });
}

void ChangeOne(Jobs& jobs, const wire::ChangeJobs& asked, JobId job) {
  using Change = wire::ChangeJobs::Change;
  switch (asked.change) {
    case Change::kHold:
      jobs.KeepHold(job);
      return jobs.hub().Post(engine::HoldJob{
          .job = job, .end_running = asked.end_running, .even_ended = asked.ended_too});
    case Change::kClose:
      return jobs.hub().Post(engine::SealJob{job});
    case Change::kRelease:
      return jobs.hub().Post(engine::ReleaseJob{job});
    case Change::kSet:
      return SetTerms(jobs, asked, job);
  }
}

// The number of changes of the job that the journal has to record.
uint64_t ChangesOf(const engine::Engine& engine, const wire::ChangeJobs& asked, JobId job) {
  using Change = wire::ChangeJobs::Change;
  const bool is_held = engine.Held(job) != engine::HoldReason::kNone;
  if (asked.change == Change::kHold || asked.change == Change::kRelease) {
    return is_held == (asked.change == Change::kRelease) ? 1 : 0;
  }
  // New times may change the class of every task.
  constexpr uint64_t kTasks = 100;
  return 1 + (SetsTimes(asked) ? engine.Counts(job).value_or(JobCounts()).queued / kTasks : 0);
}

// ---- Forgetting --------------------------------------------------------------------------------

// Returns jobs that ended at least `age` ago; `more`: there are more of them.
std::vector<JobId> OlderThan(const Asking& asking, const Jobs& jobs, Duration age, bool& more) {
  std::string user = asking.caller().is_admin ? "" : asking.caller().user;
  auto ended = jobs.known().EndedBefore(asking.wall - age, kMostForgotten, user);
  more = ended.size() == kMostForgotten;
  // Somebody may be about to add tasks to one.
  std::erase_if(ended, [&](JobId job) { return jobs.Grows(job); });
  return ended;
}

Status CheckForgettable(const Jobs& jobs, const std::vector<JobId>& picked) {
  for (JobId job : picked) {
    const KnownJobs::Job* known = jobs.known().Find(job);
    bool grows = jobs.Grows(job);
    if ((known->finished && !grows) || !known->damage.empty()) continue;
    return Fail(ErrorKind::kBusy, fmt::format("job {} has not ended", job.value),
                Remedy("; {} ends it", Advice("job cancel", job.value)));
  }
  return {};
}

// Changes a job that the engine may have forgotten, for what will be added to it.
Status ChangeAlsoEnded(Asking& asking, Jobs& jobs, const wire::ChangeJobs& asked,
                       const std::vector<JobId>& picked) {
  if (picked.size() != 1) return Fail(ErrorKind::kInvalid, "name one job, by its number");
  JobId job = picked.front();
  auto there = asking.client.IsThere(job);
  if (!there || !*there) return there ? Status() : std::unexpected(there.error());
  ChangeOne(jobs, asked, job);
  jobs.UnloadSoon(job);
  asking.EndWhenSettled(wire::JobsChanged{picked, {}});
  return {};
}

}  // namespace

Status Answer(Asking& asking, Jobs& jobs, const wire::ChangeJobs& asked) {
  (void)TRY(asked.set.AppliedTo({}));
  auto picked = TRY(PickJobs(jobs, asking.caller(), asked.jobs));
  uint64_t changes = 0;
  for (JobId job : picked) changes += ChangesOf(jobs.engine(), asked, job);
  if (!TRY(asking.client.MayChange(changes))) return {};
  if (asked.ended_too) return ChangeAlsoEnded(asking, jobs, asked, picked);
  if (asked.change != wire::ChangeJobs::Change::kRelease) {
    asking.EndWhenSettled(
        ChangeEach(jobs, picked, [&](JobId job) { ChangeOne(jobs, asked, job); }));
    return {};
  }
  wire::JobsChanged done;
  for (JobId job : picked) {
    const bool held = jobs.engine().Held(job) != engine::HoldReason::kNone;
    const bool ended = jobs.known().Find(job)->finished;
    (ended ? done.ended : held ? done.changed : done.free).push_back(job);
    // For an ended job this forgets why it was held.
    ChangeOne(jobs, asked, job);
  }
  asking.EndWhenSettled(std::move(done));
  for (JobId job : picked) jobs.known().Held(job, engine::HoldReason::kNone);
  return {};
}

Status Answer(Asking& asking, Jobs& jobs, const wire::Cancel& asked) {
  std::map<JobId, std::vector<TasksOfJob>> selected;
  for (const TasksOfJob& part : asked.tasks) {
    auto job = TRY(PickJob(jobs, asking.caller(), part));
    selected[job].push_back(part);
  }
  auto picked = TRY(PickJobs(jobs, asking.caller(), asked.jobs));
  wire::Cancel::Answer done;
  done.jobs = ChangeEach(jobs, picked, [&](JobId job) { jobs.hub().Post(engine::CancelJob{job}); });
  for (const auto& [job, parts] : selected) {
    Chosen chosen = Choose(jobs, job, parts, {TaskState::kQueued, TaskState::kLeased});
    done.tasks.push_back({job, chosen.count});
    if (chosen.count == 0) continue;
    jobs.hub().Post(engine::CancelTasks{job, std::move(chosen.tasks), ""});
  }
  asking.EndWhenSettled(std::move(done));
  return {};
}

Status Answer(Asking& asking, Jobs& jobs, const wire::Forget& asked) {
  wire::Forget::Answer done;
  if (asked.older_than) {
    done.jobs = OlderThan(asking, jobs, *asked.older_than, done.more);
  } else {
    auto picked = TRY(PickJobs(jobs, asking.caller(), asked.jobs, /*damaged_too=*/true));
    done.jobs = std::move(picked);
  }
  TRY(CheckForgettable(jobs, done.jobs));
  if (asked.dry_run || done.jobs.empty()) {
    asking.EndWhenSettled(std::move(done));
    return {};
  }
  auto left = std::make_shared<size_t>(done.jobs.size());
  std::function<void()> end = asking.client.Guarded([client = &asking.client, done] {
    client->Give(done);
    client->End();
  });
  for (JobId job : done.jobs) {
    jobs.ForgetJob(job, [left, end] {
      if (--*left == 0) end();
    });
  }
  return {};
}

namespace {

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

}  // namespace

Status Answer(Asking& asking, Jobs& jobs, const wire::Retry& asked) {
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
    asking.Give(told);
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
  asking.EndWhenSettled(std::move(told));
  return {};
}

}  // namespace spate::hub
