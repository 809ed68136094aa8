// Commands that change jobs, and why a task waits.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

#include "apps/hub_notes.h"
#include "apps/hub_verbs.h"
#include "base/units.h"
#include "cli/history/job_facts.h"
#include "cli/options/needs_change.h"
#include "cli/options/run_options.h"
#include "cli/options/submit_options.h"
#include "cli/options/values.h"
#include "cli/text/end_text.h"
#include "cli/view/json_line.h"
#include "core/model/ranges.h"
#include "format/selector/selector.h"

namespace spate::apps {
namespace {

using Call = CommandCall;
using cli::Command;
using cli::JsonLine;

// Of one command: each that has ended is read from the journal, while all others wait.
constexpr size_t kMostJobs = 10'000;

// What ranges of numbers mean. The hub's jobs are listed once, however many ranges ask for them.
class JobRanges {
 public:
  explicit JobRanges(const hub::KnownJobs& jobs) : jobs_(jobs) {}
  // False: none of them is there.
  bool Add(const format::NumberRange& range) {
    bool one = range.first == range.last;
    if (one ? jobs_.Find(JobId(range.first)) == nullptr : !HasAny(range)) return false;
    ranges_.push_back(range);
    return true;
  }
  Status AppendTo(std::vector<JobId>& picked) {
    constexpr size_t kFew = 8;  // may be read one by one
    auto fail = [] {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("these are more than {} jobs; name fewer at once, or all",
                              FormatCount(kMostJobs)));
    };
    for (const format::NumberRange& range : format::Merged(std::move(ranges_))) {
      if (range.first == range.last) {
        picked.push_back(JobId(range.first));  // Add has found it
        if (picked.size() > kMostJobs) return fail();
        continue;
      }
      auto between = Between(range);
      // None is read of too many.
      if (range.step == 1 && picked.size() + between.size() > kMostJobs) return fail();
      if (between.size() > kFew) jobs_.Prepare(between.front(), between.back(), kMostJobs);
      for (JobId job : between) {
        if (range.Contains(job.value) && jobs_.Find(job)) picked.push_back(job);
        if (picked.size() > kMostJobs) return fail();
      }
    }
    return {};
  }

 private:
  std::span<const JobId> Between(const format::NumberRange& range) {
    if (!all_) all_ = jobs_.AllOf("", true);
    auto first = std::ranges::lower_bound(*all_, JobId(range.first));
    return {first, std::ranges::upper_bound(first, all_->end(), JobId(range.last))};
  }
  bool HasAny(const format::NumberRange& range) {
    return std::ranges::any_of(Between(range),
                               [&](JobId job) { return range.Contains(job.value); });
  }

  const hub::KnownJobs& jobs_;
  std::optional<std::vector<JobId>> all_;  // ascending
  std::vector<format::NumberRange> ranges_;
};

// The jobs that words name; those of others are errors.
Result<std::vector<JobId>> PickJobs(const Call& call, const std::vector<std::string>& words,
                                    bool damaged_too = false) {
  std::vector<JobId> picked;
  hub::KnownJobs& jobs = call.service.known();
  JobRanges ranges(jobs);
  bool all = false;
  for (const std::string& word : words) {
    auto selector = format::ParseJobSelector(word);
    if (!selector) return std::unexpected(selector.error());
    all |= selector->all;
    if (selector->last) {
      auto newest = jobs.NewestOf(call.caller().user);
      if (!newest) return Fail(ErrorKind::kNotFound, "you have no job on this hub yet");
      picked.push_back(*newest);
    }
    for (const format::NumberRange& range : selector->ranges) {
      if (ranges.Add(range)) continue;
      return Fail(ErrorKind::kNotFound,
                  fmt::format("there is no job {} on this hub; see: spate job list{}", word,
                              call.asked.reach));
    }
  }
  if (auto few = ranges.AppendTo(picked); !few) return std::unexpected(few.error());
  if (all) {
    auto unfinished = jobs.UnfinishedOf(call.caller().user, call.caller().is_admin);
    picked.insert(picked.end(), unfinished.begin(), unfinished.end());
  }
  for (JobId job : picked) {
    auto right = damaged_too ? call.service.jobs().CheckRight(call.caller(), job)
                             : call.service.jobs().CheckUsable(call.caller(), job);
    if (!right) return std::unexpected(right.error());
  }
  std::sort(picked.begin(), picked.end());
  picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  return picked;
}

// The job of a task selector; that of another user is an error.
Result<JobId> PickJob(const Call& call, const format::TasksOfJob& tasks) {
  std::optional<JobId> job;
  if (tasks.job) job = JobId(*tasks.job);
  if (!job) job = call.service.known().NewestOf(call.caller().user);
  if (!job) return Fail(ErrorKind::kNotFound, "you have no job on this hub yet");
  if (auto right = call.service.jobs().CheckUsable(call.caller(), *job); !right) {
    return std::unexpected(right.error());
  }
  return *job;
}

std::string JobsText(const std::vector<JobId>& jobs) {
  if (jobs.size() == 1) return fmt::format("job {}", jobs.front().value);
  return cli::CountOf(jobs.size(), "job");
}

// Posts one event for each job that has not ended, and returns these.
std::vector<JobId> PostToJobs(Call& call, const std::vector<JobId>& jobs,
                              const std::function<engine::Event(JobId)>& event) {
  std::vector<JobId> changed;
  for (JobId job : jobs) {
    if (call.service.known().Find(job)->finished) {
      call.Say(fmt::format("job {} has ended already", job.value));
      continue;
    }
    call.service.hub().Post(event(job));
    changed.push_back(job);
  }
  return changed;
}

Status ChangeJobs(Call& call, const std::function<engine::Event(JobId)>& event,
                  std::string_view done) {
  auto picked = PickJobs(call, call.words.words);
  if (!picked) return std::unexpected(picked.error());
  auto changed = PostToJobs(call, *picked, event);
  call.Done(changed.empty() ? "" : fmt::format("{} {}", JobsText(changed), done));
  return {};
}

using Selected = std::map<JobId, std::vector<format::TasksOfJob>>;

Status SelectTasks(const Call& call, const std::string& word, Selected& selected) {
  auto parts = format::ParseTaskSelector(word);
  if (!parts) return std::unexpected(parts.error());
  for (const format::TasksOfJob& part : *parts) {
    auto job = PickJob(call, part);
    if (!job) return std::unexpected(job.error());
    selected[*job].push_back(part);
  }
  return {};
}

struct Chosen {
  std::vector<TaskRange> tasks;
  uint64_t count = 0;
};

// By index, which of a job's `total` tasks are named.
std::vector<bool> Named(const std::vector<format::TasksOfJob>& parts, uint32_t total) {
  bool all = std::ranges::any_of(parts, &format::TasksOfJob::all);
  std::vector<format::NumberRange> ranges;
  for (const format::TasksOfJob& part : parts) {
    if (!all) ranges.insert(ranges.end(), part.ranges.begin(), part.ranges.end());
  }
  std::vector<bool> named(total, all);
  for (const format::NumberRange& range : format::Merged(std::move(ranges))) {
    for (uint64_t number = range.first; number <= std::min(range.last, total);
         number += range.step) {
      named[number - 1] = true;
    }
  }
  return named;
}

// The tasks of a job that are named and in one of these states.
Chosen Choose(const Call& call, JobId job, const std::vector<format::TasksOfJob>& parts,
              std::initializer_list<TaskState> states) {
  const engine::Engine& engine = call.service.hub().engine();
  auto counts = engine.Counts(job);
  std::vector<bool> named = Named(parts, counts ? counts->total : 0);
  Chosen chosen;
  for (TaskIndex i = 0; i < named.size(); ++i) {
    if (!named[i]) continue;
    if (std::find(states.begin(), states.end(), engine.StateOf(job, i)) == states.end()) continue;
    AppendIndex(chosen.tasks, i);
    ++chosen.count;
  }
  return chosen;
}

// Words with a dot name tasks, others jobs.
Status Cancel(Call& call) {
  Selected selected;
  std::vector<std::string> words;
  for (const std::string& word : call.words.words) {
    if (word.find('.') == std::string::npos) {
      words.push_back(word);
    } else if (auto fine = SelectTasks(call, word, selected); !fine) {
      return fine;
    }
  }
  auto jobs = PickJobs(call, words);
  if (!jobs) return std::unexpected(jobs.error());
  auto cancelled = PostToJobs(call, *jobs, [](JobId job) { return engine::CancelJob{job}; });
  std::vector<std::string> done;
  if (!cancelled.empty()) done.push_back(JobsText(cancelled));
  for (const auto& [job, parts] : selected) {
    Chosen chosen = Choose(call, job, parts, {TaskState::kQueued, TaskState::kLeased});
    if (chosen.count > 0) {
      done.push_back(fmt::format("{} of job {}", cli::CountOf(chosen.count, "task"), job.value));
      call.service.hub().Post(engine::CancelTasks{job, std::move(chosen.tasks), ""});
    } else {
      call.Say(fmt::format("no chosen task of job {} is queued or running", job.value));
    }
  }
  call.Done(done.empty() ? "" : fmt::format("{} cancelled", fmt::join(done, ", ")));
  return {};
}

Status Forget(Call& call) {
  hub::KnownJobs& jobs = call.service.known();
  std::string more;
  std::vector<JobId> chosen;
  if (auto older = call.words.Last(cli::Opt::kOlderThan)) {
    auto age = ParseDuration(*older);
    if (!age) return Within("--older-than", age.error());
    chosen = jobs.EndedBefore(call.service.loop().Now() - *age, kMostJobs,
                              call.caller().is_admin ? "" : call.caller().user);
    if (chosen.size() == kMostJobs) {
      more = fmt::format("; there are more: spate job forget{} --older-than {}", call.asked.reach,
                         EscapeForScreen(*older));
    }
    // Somebody may be about to add tasks to one.
    std::erase_if(chosen, [&](JobId job) { return call.service.jobs().Grows(job); });
  } else if (call.words.words.empty()) {
    return Fail(ErrorKind::kInvalid, "which jobs? Write their numbers, or --older-than T");
  } else {
    auto picked = PickJobs(call, call.words.words, /*damaged_too=*/true);
    if (!picked) return std::unexpected(picked.error());
    chosen = std::move(*picked);
  }
  for (JobId job : chosen) {
    bool grows = call.service.jobs().Grows(job);
    if ((jobs.Find(job)->finished && !grows) || !jobs.Find(job)->damage.empty()) continue;
    return Fail(ErrorKind::kBusy,
                fmt::format("job {0} has not ended; spate job cancel{1} {0} ends it", job.value,
                            call.asked.reach));
  }
  bool dry = call.words.Has(cli::Opt::kDryRun);
  std::string text =
      fmt::format("{}{} forgotten{}", dry ? "would be: " : "", JobsText(chosen), more);
  if (dry || chosen.empty()) {
    call.Done(std::move(text));
    return {};
  }
  auto left = std::make_shared<size_t>(chosen.size());
  for (JobId job : chosen) {
    call.service.jobs().ForgetJob(job, [left, answer = call.Answer(text)] {
      if (--*left == 0) answer();
    });
  }
  return {};
}

Status Set(Call& call) {
  auto changes = cli::MakeJobChanges(call.words);
  if (!changes) return std::unexpected(changes.error());
  auto event = [&](JobId job) {
    JobPolicy policy = *call.service.hub().engine().Policy(job);
    policy.weight = changes->weight.value_or(policy.weight);
    policy.max_running = changes->max_running.value_or(policy.max_running);
    return engine::ChangePolicy{job, policy};
  };
  return ChangeJobs(call, event, "changed");
}

Status Release(Call& call) {
  auto picked = PickJobs(call, call.words.words);
  if (!picked) return std::unexpected(picked.error());
  for (JobId job : *picked) call.service.hub().Post(engine::ReleaseJob{job});
  call.Done(fmt::format("{} may go on", JobsText(*picked)));
  for (JobId job : *picked) call.service.known().Held(job, engine::HoldReason::kNone);
  return {};
}

// Of a hub's job no more than this can be changed.
Status CheckRetryOptions(const cli::Words& words) {
  using cli::Opt;
  constexpr Opt kOthers[] = {Opt::kTimeLimit, Opt::kDryRun, Opt::kOutput, Opt::kHub,
                             Opt::kLocal,     Opt::kAccess, Opt::kState};
  for (const cli::TypedOption& option : words.options) {
    if (cli::ChangesNeeds(option.opt)) continue;
    bool fine = std::find(std::begin(kOthers), std::end(kOthers), option.opt) != std::end(kOthers);
    if (fine) continue;
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: a hub's job keeps the options that it was submitted with; only "
                            "the needs of what is run again (--memory, --cpus, ...) and "
                            "--time-limit can be others",
                            cli::DashedName(option.opt)));
  }
  return {};
}

using SettingsChange = std::function<void(JobSettings&)>;

// --time-limit, which nodes know from the job's settings; null when it is not given.
Result<SettingsChange> TimeLimitChange(const cli::Words& words) {
  auto value = words.Last(cli::Opt::kTimeLimit);
  if (!value) return SettingsChange();
  auto limit = cli::ParseTimeLimit(*value);
  if (!limit) return Within("--time-limit", limit.error());
  return SettingsChange([limit = *limit](JobSettings& settings) {
    settings.time_limit = limit.limit;
    settings.time_limit_percent = limit.percent;
  });
}

Status Retry(Call& call) {
  if (auto known = CheckRetryOptions(call.words); !known) return known;
  auto change = cli::MakeNeedsChange(call.words);
  if (!change) return std::unexpected(change.error());
  auto time_limit = TimeLimitChange(call.words);
  if (!time_limit) return std::unexpected(time_limit.error());
  std::string word = call.words.words.empty() ? "last" : call.words.words.front();
  auto selected = format::ParseTaskSelector(word);
  if (!selected) return std::unexpected(selected.error());
  if (selected->size() != 1) {
    return Fail(ErrorKind::kInvalid, "name one job, as in: spate job retry 12, or 12.3-9");
  }
  auto job = PickJob(call, selected->front());
  if (!job) return std::unexpected(job.error());
  auto there = call.client.IsThere(*job);
  if (!there || !*there) return there ? Status() : std::unexpected(there.error());
  auto [failed, count] = Choose(call, *job, *selected,
                                {TaskState::kFailed, TaskState::kUnknown, TaskState::kCancelled});
  std::string not_done;
  if (failed.empty()) {
    not_done = fmt::format("nothing to retry: no chosen task of job {} has failed", job->value);
  } else if (call.words.Has(cli::Opt::kDryRun)) {
    not_done =
        fmt::format("would be: job {}: {} run again", job->value, cli::CountOf(count, "task"));
  }
  if (!not_done.empty()) {
    call.Say(not_done);
    if (call.service.hub().engine().Finished(*job)) call.service.jobs().ForgetSoon(*job);
    call.client.Exit(cli::kExitSuccess);
    return {};
  }
  if (*time_limit) {
    if (auto set = call.service.jobs().ChangeSettings(*job, *time_limit); !set) return set;
  }
  call.service.jobs().Reopen(*job, std::move(failed), std::move(*change));
  call.Done(fmt::format("job {0}: {1} run again; to wait for them: spate job wait{2} {0}",
                        job->value, cli::CountOf(count, "task"), call.asked.reach));
  return {};
}

Status Explain(Call& call) {
  std::string text;
  for (const std::string& word : call.words.words) {
    auto selected = format::ParseTaskSelector(word);
    if (!selected) return std::unexpected(selected.error());
    for (const format::TasksOfJob& tasks : *selected) {
      auto job = PickJob(call, tasks);
      if (!job) return std::unexpected(job.error());
      uint32_t number = tasks.ranges.empty() ? 1 : tasks.ranges.front().first;
      std::string why = WhyWaits(call.service, *job, number, call.asked.reach);
      if (why.empty()) return Fail(ErrorKind::kNotFound, "");
      if (call.human()) {
        text += fmt::format("{}.{}: {}\n", job->value, number, why);
      } else {
        JsonLine line = cli::TypedLine("explanation");
        line.Number("job", job->value);
        text += line.Number("task", number).Text("why", why).Finish();
      }
    }
  }
  call.Put(text);
  call.client.Exit(cli::kExitSuccess);
  return {};
}

}  // namespace

Verb JobVerbOf(Command command) {
  switch (command) {
    case Command::kJobCancel:
      return Cancel;
    case Command::kJobHold:
      return [](Call& call) {
        return ChangeJobs(
            call, [](JobId job) { return engine::HoldJob{job, false}; },
            fmt::format("held; to go on: spate job release{} {}", call.asked.reach,
                        fmt::join(call.words.words, " ")));
      };
    case Command::kJobClose:
      return [](Call& call) {
        return ChangeJobs(
            call, [](JobId job) { return engine::SealJob{job}; }, "takes no more tasks");
      };
    case Command::kJobForget:
      return Forget;
    case Command::kJobSet:
      return Set;
    case Command::kJobRelease:
      return Release;
    case Command::kJobRetry:
      return Retry;
    case Command::kTaskExplain:
      return Explain;
    default:
      return nullptr;
  }
}

}  // namespace spate::apps
