// Holds, releases, closes jobs, or sets their terms.
#include "hub/answers/pick.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Check(const wire::ChangeJobs& asked) { return wire::CheckValues(wire::SetBy(asked.set)); }

bool SetsTimes(const wire::ChangeJobs& asked) {
  return asked.set.Sets(asked.set.values.time) || asked.set.Sets(asked.set.values.deadline);
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

// Changes a job that the engine may have forgotten, for what will be added to it.
Status ChangeAlsoEnded(Asking& asking, Jobs& jobs, const wire::ChangeJobs& asked,
                       const std::vector<JobId>& picked) {
  if (picked.size() != 1) return Fail(ErrorKind::kInvalid, "name one job, by its number");
  JobId job = picked.front();
  auto there = asking.client.IsThere(job);
  if (!there || !*there) return there ? Status() : std::unexpected(there.error());
  ChangeOne(jobs, asked, job);
  jobs.UnloadSoon(job);
  return asking.EndWhenSettled(wire::JobsChanged{picked, {}});
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ChangeJobs& asked) {
  Jobs& jobs = hub.jobs;
  (void)TRY(asked.set.AppliedTo({}));
  auto picked = TRY(PickJobs(jobs, asking.caller(), asked.jobs));
  uint64_t changes = 0;
  for (JobId job : picked) changes += ChangesOf(jobs.engine(), asked, job);
  if (!TRY(asking.client.MayChange(changes))) return {};
  if (asked.ended_too) return ChangeAlsoEnded(asking, jobs, asked, picked);
  if (asked.change != wire::ChangeJobs::Change::kRelease) {
    return asking.EndWhenSettled(
        ChangeEach(jobs, picked, [&](JobId job) { ChangeOne(jobs, asked, job); }));
  }
  wire::JobsChanged done;
  for (JobId job : picked) {
    const bool held = jobs.engine().Held(job) != engine::HoldReason::kNone;
    const bool ended = jobs.known().Find(job)->finished;
    (ended ? done.ended : held ? done.changed : done.free).push_back(job);
    // For an ended job this forgets why it was held.
    ChangeOne(jobs, asked, job);
  }
  return asking.EndWhenSettled(std::move(done));
  for (JobId job : picked) jobs.known().Held(job, engine::HoldReason::kNone);
}

}  // namespace

extern const HubQuestion kChangeJobs =
    QuestionOf<wire::ChangeJobs, Answer, Check>({.who = kOwner, .cost = kNamed});

}  // namespace spate::hub
