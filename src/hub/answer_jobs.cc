// Changes of jobs, and why their tasks wait.
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
#include "hub/answers.h"
#include "hub/service.h"

namespace spate::hub {
namespace {

// Of one change: each that has ended is read from the journal, while all others wait.
constexpr size_t kMostJobs = 10'000;
// Each of one job that has ended is read by itself.
constexpr size_t kMostRanges = 3'000;
constexpr size_t kFew = 8;
// Among so many those chosen with a step may be.
constexpr size_t kMostListed = 200'000;
// Each may be a walk over a job's tasks.
constexpr size_t kMostExplained = 1'000;
constexpr size_t kMostLookedAt = 50;

std::string TextOf(const NumberRange& range) {
  if (range.first == range.last) return fmt::format("{}", range.first);
  std::string step = range.step == 1 ? "" : fmt::format(":{}", range.step);
  return fmt::format("{}-{}{}", range.first, range.last, step);
}

Status CheckSteps(const std::vector<NumberRange>& ranges) {
  // Those with steps cannot be put together as others are.
  auto stepped = std::ranges::count_if(ranges, [](const auto& range) { return range.step > 1; });
  if (static_cast<size_t>(stepped) <= kMostStepped) return {};
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("these are more than {} ranges with steps; name fewer at once", kMostStepped));
}

Status CheckJobs(const std::vector<NumberRange>& ranges) {
  if (ranges.size() <= kMostRanges) return CheckSteps(ranges);
  return Fail(ErrorKind::kInvalid,
              fmt::format("these are more than {} ranges of jobs; name fewer at once, or all",
                          FormatCount(kMostRanges)));
}

Error TooMany() {
  return {ErrorKind::kInvalid,
          fmt::format("these are more than {} jobs; name fewer at once, or all",
                      FormatCount(kMostJobs))};
}

// What ranges of numbers mean. Each is looked up by itself, but for those with steps: the jobs
// among which they choose are listed once, however many they are.
class JobRanges {
 public:
  JobRanges(const KnownJobs& jobs, const std::vector<NumberRange>& named)
      : jobs_(jobs), named_(named) {}
  // Ascending.
  Result<std::vector<JobId>> Pick();

 private:
  Status CheckEach();
  Status List(const std::vector<NumberRange>& ranges);
  bool HasAny(const NumberRange& range) const;
  Status Add(const NumberRange& range);

  const KnownJobs& jobs_;
  const std::vector<NumberRange>& named_;
  std::vector<JobId> listed_;  // ascending; for ranges with steps
  std::vector<JobId> picked_;
};

Status JobRanges::List(const std::vector<NumberRange>& ranges) {
  uint32_t first = UINT32_MAX, last = 0;
  for (const NumberRange& range : ranges) {
    if (range.step == 1) continue;
    first = std::min(first, range.first);
    last = std::max(last, range.last);
  }
  if (first > last) return {};
  listed_ = jobs_.Between(JobId(first), JobId(last), kMostListed);
  return listed_.size() < kMostListed ? Status() : std::unexpected(TooMany());
}

bool JobRanges::HasAny(const NumberRange& range) const {
  if (range.first == range.last) return jobs_.Find(JobId(range.first)) != nullptr;
  if (range.step == 1) return !jobs_.Between(JobId(range.first), JobId(range.last), 1).empty();
  return std::ranges::any_of(listed_, [&](JobId job) { return range.Contains(job.value); });
}

// A number that was typed and is not there is an error; a range need only touch one.
Status JobRanges::CheckEach() {
  for (const NumberRange& range : named_) {
    if (HasAny(range)) continue;
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no job {} on this hub; see: spate job list", TextOf(range)));
  }
  return {};
}

Status JobRanges::Add(const NumberRange& range) {
  if (range.step > 1) {
    std::ranges::copy_if(listed_, std::back_inserter(picked_),
                         [&](JobId job) { return range.Contains(job.value); });
  } else {
    auto between = jobs_.Between(JobId(range.first), JobId(range.last), kMostJobs + 1);
    picked_.insert(picked_.end(), between.begin(), between.end());
    // They are read at once, for all that looks at them in this turn.
    if (between.size() > kFew) jobs_.Prepare(between.front(), between.back(), between.size());
  }
  return picked_.size() <= kMostJobs ? Status() : std::unexpected(TooMany());
}

Result<std::vector<JobId>> JobRanges::Pick() {
  if (auto listed = List(named_); !listed) return std::unexpected(listed.error());
  if (auto there = CheckEach(); !there) return std::unexpected(there.error());
  for (const NumberRange& range : Merged(named_)) {
    if (auto added = Add(range); !added) return std::unexpected(added.error());
  }
  std::ranges::sort(picked_);
  return std::move(picked_);
}

Error NoJobYet() { return {ErrorKind::kNotFound, "you have no job on this hub yet"}; }

// Whoever's they are; some may be there twice.
Result<std::vector<JobId>> NamedJobs(const QueryCall& call, const JobSelector& named) {
  if (auto few = CheckJobs(named.ranges); !few) return std::unexpected(few.error());
  std::vector<JobId> picked;
  KnownJobs& jobs = call.service.known();
  auto in_ranges = JobRanges(jobs, named.ranges).Pick();
  if (!in_ranges) return std::unexpected(in_ranges.error());
  picked = std::move(*in_ranges);
  if (named.last) {
    auto newest = jobs.NewestOf(call.caller().user);
    if (!newest) return std::unexpected(NoJobYet());
    picked.push_back(*newest);
  }
  if (named.all) {
    auto unfinished = jobs.UnfinishedOf(call.caller().user, call.caller().is_admin);
    picked.insert(picked.end(), unfinished.begin(), unfinished.end());
  }
  return picked;
}

// The jobs that are named, ascending, each once; those of others are errors.
Result<std::vector<JobId>> PickJobs(const QueryCall& call, const JobSelector& named,
                                    bool damaged_too = false) {
  auto found = NamedJobs(call, named);
  if (!found) return found;
  std::vector<JobId> picked = std::move(*found);
  for (JobId job : picked) {
    auto right = damaged_too ? call.service.jobs().CheckRight(call.caller(), job)
                             : call.service.jobs().CheckUsable(call.caller(), job);
    if (!right) return std::unexpected(right.error());
  }
  std::ranges::sort(picked);
  picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  return picked;
}

// The job of these tasks; that of another user is an error.
Result<JobId> PickJob(const QueryCall& call, const TasksOfJob& tasks) {
  if (auto few = CheckSteps(tasks.ranges); !few) return std::unexpected(few.error());
  std::optional<JobId> job;
  if (tasks.job) job = JobId(*tasks.job);
  if (!job) job = call.service.known().NewestOf(call.caller().user);
  if (!job) return std::unexpected(NoJobYet());
  if (auto right = call.service.jobs().CheckUsable(call.caller(), *job); !right) {
    return std::unexpected(right.error());
  }
  return *job;
}

// Posts one event for each job that has not ended.
wire::JobsChanged PostToJobs(QueryCall& call, const std::vector<JobId>& jobs,
                             const std::function<engine::Event(JobId)>& event) {
  wire::JobsChanged done;
  for (JobId job : jobs) {
    if (call.service.known().Find(job)->finished) {
      done.ended.push_back(job);
    } else {
      call.service.hub().Post(event(job));
      done.changed.push_back(job);
    }
  }
  return done;
}

engine::Event EventOf(const QueryCall& call, const wire::ChangeJobs& asked, JobId job) {
  using Change = wire::ChangeJobs::Change;
  switch (asked.change) {
    case Change::kHold:
      return engine::HoldJob{job, false};
    case Change::kClose:
      return engine::SealJob{job};
    case Change::kRelease:
      return engine::ReleaseJob{job};
    case Change::kSet:
      break;
  }
  JobPolicy policy = *call.service.engine().Policy(job);
  policy.weight = asked.weight.value_or(policy.weight);
  policy.max_running = asked.max_running.value_or(policy.max_running);
  return engine::ChangePolicy{job, policy};
}

// ---- Tasks -------------------------------------------------------------------------------------

using Selected = std::map<JobId, std::vector<TasksOfJob>>;

struct Chosen {
  std::vector<TaskRange> tasks;
  uint32_t count = 0;
};

// Of a job's `total` tasks those that are named, each once; what lies between them costs a bit.
void VisitNamed(const std::vector<TasksOfJob>& parts, uint32_t total,
                const std::function<void(TaskIndex)>& visit) {
  std::vector<NumberRange> ranges;
  for (const TasksOfJob& part : parts) {
    ranges.insert(ranges.end(), part.ranges.begin(), part.ranges.end());
    if (part.all && total > 0) ranges.push_back({1, total, 1});
  }
  std::erase_if(ranges, [&](const NumberRange& range) { return range.first > total; });
  if (ranges.empty()) return;
  uint32_t least = total, most = 1;
  for (NumberRange& range : ranges) {
    range.last = std::min(range.last, total);
    least = std::min(least, range.first);
    most = std::max(most, range.last);
  }
  std::vector<bool> named(most - least + 1);
  for (const NumberRange& range : Merged(std::move(ranges))) {
    for (uint64_t number = range.first; number <= range.last; number += range.step) {
      named[number - least] = true;
    }
  }
  for (uint32_t i = 0; i < named.size(); ++i) {
    if (named[i]) visit(least - 1 + i);
  }
}

// The tasks of a job that are named and in one of these states.
Chosen Choose(const QueryCall& call, JobId job, const std::vector<TasksOfJob>& parts,
              std::initializer_list<TaskState> states) {
  const engine::Engine& engine = call.service.engine();
  auto counts = engine.Counts(job);
  Chosen chosen;
  VisitNamed(parts, counts ? counts->total : 0, [&](TaskIndex index) {
    if (std::find(states.begin(), states.end(), engine.StateOf(job, index)) == states.end()) return;
    AppendIndex(chosen.tasks, index);
    ++chosen.count;
  });
  return chosen;
}

// ---- Forgetting --------------------------------------------------------------------------------

// Of one age; `more`: there are more of them.
std::vector<JobId> OlderThan(const QueryCall& call, Duration age, bool& more) {
  std::string user = call.caller().is_admin ? "" : call.caller().user;
  auto jobs = call.service.known().EndedBefore(call.service.now() - age, kMostJobs, user);
  more = jobs.size() == kMostJobs;
  // Somebody may be about to add tasks to one.
  std::erase_if(jobs, [&](JobId job) { return call.service.jobs().Grows(job); });
  return jobs;
}

Status CheckForgettable(const QueryCall& call, const std::vector<JobId>& jobs) {
  for (JobId job : jobs) {
    const KnownJobs::Job* known = call.service.known().Find(job);
    bool grows = call.service.jobs().Grows(job);
    if ((known->finished && !grows) || !known->damage.empty()) continue;
    return Fail(ErrorKind::kBusy,
                fmt::format("job {0} has not ended; spate job cancel {0} ends it", job.value));
  }
  return {};
}

// Of one that the engine may have forgotten, for what will be added to it.
Status ChangeOne(QueryCall& call, const wire::ChangeJobs& asked, const std::vector<JobId>& picked) {
  if (picked.size() != 1) return Fail(ErrorKind::kInvalid, "name one job, by its number");
  JobId job = picked.front();
  auto there = call.client.IsThere(job);
  if (!there || !*there) return there ? Status() : std::unexpected(there.error());
  call.service.hub().Post(EventOf(call, asked, job));
  call.service.jobs().UnloadSoon(job);
  call.EndWhenSettled(wire::JobsChanged{picked, {}});
  return {};
}

}  // namespace

Status Answer(QueryCall& call, const wire::ChangeJobs& asked) {
  auto picked = PickJobs(call, asked.jobs);
  if (!picked) return std::unexpected(picked.error());
  if (asked.ended_too) return ChangeOne(call, asked, *picked);
  if (asked.change != wire::ChangeJobs::Change::kRelease) {
    call.EndWhenSettled(
        PostToJobs(call, *picked, [&](JobId job) { return EventOf(call, asked, job); }));
    return {};
  }
  // Of one that has ended it is forgotten why it was held.
  for (JobId job : *picked) call.service.hub().Post(EventOf(call, asked, job));
  call.EndWhenSettled(wire::JobsChanged{*picked, {}});
  for (JobId job : *picked) call.service.known().Held(job, engine::HoldReason::kNone);
  return {};
}

Status Answer(QueryCall& call, const wire::Cancel& asked) {
  Selected selected;
  for (const TasksOfJob& part : asked.tasks) {
    auto job = PickJob(call, part);
    if (!job) return std::unexpected(job.error());
    selected[*job].push_back(part);
  }
  auto jobs = PickJobs(call, asked.jobs);
  if (!jobs) return std::unexpected(jobs.error());
  wire::Cancel::Answer done;
  done.jobs = PostToJobs(call, *jobs, [](JobId job) { return engine::CancelJob{job}; });
  for (const auto& [job, parts] : selected) {
    Chosen chosen = Choose(call, job, parts, {TaskState::kQueued, TaskState::kLeased});
    done.tasks.push_back({job, chosen.count});
    if (chosen.count == 0) continue;
    call.service.hub().Post(engine::CancelTasks{job, std::move(chosen.tasks), ""});
  }
  call.EndWhenSettled(std::move(done));
  return {};
}

Status Answer(QueryCall& call, const wire::Forget& asked) {
  wire::Forget::Answer done;
  if (asked.older_than) {
    done.jobs = OlderThan(call, *asked.older_than, done.more);
  } else {
    auto picked = PickJobs(call, asked.jobs, /*damaged_too=*/true);
    if (!picked) return std::unexpected(picked.error());
    done.jobs = std::move(*picked);
  }
  if (auto may = CheckForgettable(call, done.jobs); !may) return may;
  if (asked.dry_run || done.jobs.empty()) {
    call.EndWhenSettled(std::move(done));
    return {};
  }
  auto left = std::make_shared<size_t>(done.jobs.size());
  std::function<void()> end = call.client.Guarded([client = &call.client, done] {
    client->Give(done);
    client->End();
  });
  for (JobId job : done.jobs) {
    call.service.jobs().ForgetJob(job, [left, end] {
      if (--*left == 0) end();
    });
  }
  return {};
}

Status Answer(QueryCall& call, const wire::Retry& asked) {
  auto job = PickJob(call, asked.tasks);
  if (!job) return std::unexpected(job.error());
  auto there = call.client.IsThere(*job);
  if (!there || !*there) return there ? Status() : std::unexpected(there.error());
  auto [failed, count] = Choose(call, *job, {asked.tasks},
                                {TaskState::kFailed, TaskState::kUnknown, TaskState::kCancelled});
  if (failed.empty() || asked.dry_run) {
    call.Give(wire::TaskCount{*job, count});
    call.End();
    if (call.service.engine().Finished(*job)) call.service.jobs().UnloadSoon(*job);
    return {};
  }
  if (asked.time_limit) {
    auto set = call.service.jobs().ChangeSettings(*job, [&](JobSettings& settings) {
      settings.time_limit = *asked.time_limit;
      settings.time_limit_percent = asked.time_limit_percent;
    });
    if (!set) return set;
  }
  call.service.jobs().Reopen(*job, std::move(failed), asked.needs);
  call.EndWhenSettled(wire::TaskCount{*job, count});
  return {};
}

// What waits for a node may wait for a pilot.
void AddPools(const QueryCall& call, JobId job, std::string& why) {
  if (why.empty() || call.service.pools().count() == 0) return;
  const engine::Engine& engine = call.service.engine();
  auto info = engine.Info(job);
  auto request = engine.NewestRequest(job);
  if (!info || !request || info->held != HoldReason::kNone) return;
  std::string said = call.service.pools().Explain(info->user, request->needs);
  if (!said.empty()) why += "; " + said;
}

Status Answer(QueryCall& call, const wire::ExplainTasks& asked) {
  const engine::Engine& engine = call.service.engine();
  if (asked.tasks.size() > kMostExplained) {
    return Fail(ErrorKind::kInvalid, fmt::format("these are more than {} tasks; name fewer at once",
                                                 FormatCount(kMostExplained)));
  }
  std::vector<TaskWhy> answers;
  for (const TasksOfJob& tasks : asked.tasks) {
    auto job = PickJob(call, tasks);
    if (!job) return std::unexpected(job.error());
    uint32_t number = tasks.ranges.empty() ? 1 : tasks.ranges.front().first;
    auto counts = engine.Counts(*job);
    bool here = counts && number <= counts->total;
    std::string why = here ? engine.Explain(*job, number - 1, call.service.now()) : "";
    if (engine.StateOf(*job, number - 1) == TaskState::kQueued) AddPools(call, *job, why);
    if (why.empty()) return Fail(ErrorKind::kNotFound, "the journal tells of this task");
    answers.push_back({*job, number, std::move(why)});
  }
  for (const TaskWhy& answer : answers) call.Give(answer);
  call.End();
  return {};
}

Status Answer(QueryCall& call, const wire::LookAtJobs& asked) {
  auto named = NamedJobs(call, asked.jobs);
  if (!named) return std::unexpected(named.error());
  size_t left = kMostLookedAt;
  for (JobId job : *named) {
    if (!call.service.jobs().CheckRight(call.caller(), job)) continue;
    const KnownJobs::Job* entry = call.service.known().Find(job);
    if (entry == nullptr || entry->finished) continue;
    std::string waits = call.service.engine().WhyWaits(job, call.service.now());
    AddPools(call, job, waits);
    call.Give(wire::JobNow{job, entry->held, call.service.nodes().connected(),
                           call.service.known().WhyStalled(job), std::move(waits)});
    if (--left == 0) break;
  }
  call.End();
  return {};
}

}  // namespace spate::hub
