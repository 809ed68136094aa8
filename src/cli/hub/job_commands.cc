// `spate job cancel|hold|release|close|set|forget|retry` of a hub's jobs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/hub/hub_screen.h"
#include "cli/options/needs_change.h"
#include "cli/options/option_uses.h"
#include "cli/options/submit_options.h"
#include "cli/options/values.h"
#include "cli/text/end_text.h"
#include "cli/view/json_fields.h"
#include "format/selector/selector.h"

namespace spate::cli {
namespace {

std::string JobsText(const std::vector<JobId>& jobs) {
  if (jobs.size() == 1) return fmt::format("job {}", jobs.front().value);
  return CountOf(jobs.size(), "job");
}

void SayEnded(const HubScreen& screen, const wire::JobsChanged& done) {
  for (JobId job : done.ended) screen.Say(fmt::format("job {} has ended already", job.value));
}

Result<int> Change(const HubScreen& screen, wire::ChangeJobs question, std::string_view text) {
  auto jobs = SelectJobs(screen.words.words);
  if (!jobs) return std::unexpected(jobs.error());
  question.jobs = std::move(*jobs);
  auto done = client::AskOne(screen.hub, std::move(question));
  if (!done) return std::unexpected(done.error());
  SayEnded(screen, *done);
  if (!done->changed.empty()) screen.Say(fmt::format("{} {}", JobsText(done->changed), text));
  return kExitSuccess;
}

using Of = wire::ChangeJobs::Change;

Result<int> Hold(const HubScreen& screen) {
  return Change(screen, {.jobs = {}, .change = Of::kHold},
                fmt::format("held; to go on: spate job release{} {}", screen.reach,
                            fmt::join(screen.words.words, " ")));
}

Result<int> Set(const HubScreen& screen) {
  auto changes = MakeJobChanges(screen.words);
  if (!changes) return std::unexpected(changes.error());
  return Change(screen,
                {.jobs = {},
                 .change = Of::kSet,
                 .weight = changes->weight,
                 .max_running = changes->max_running},
                "changed");
}

// Words with a dot name tasks, others jobs.
Result<wire::Cancel> CancelOf(const Words& words, client::Asker& hub) {
  wire::Cancel question;
  std::vector<std::string> of_jobs;
  for (const std::string& word : words.words) {
    if (word.find('.') == std::string::npos) {
      of_jobs.push_back(word);
      continue;
    }
    auto tasks = format::ParseTaskSelector(word);
    if (!tasks) return std::unexpected(tasks.error());
    question.tasks.insert(question.tasks.end(), tasks->begin(), tasks->end());
  }
  if (auto found = LookUpNames(hub, question.tasks); !found) return std::unexpected(found.error());
  auto jobs = SelectJobs(of_jobs);
  if (!jobs) return std::unexpected(jobs.error());
  question.jobs = std::move(*jobs);
  return question;
}

Result<int> Cancel(const HubScreen& screen) {
  auto question = CancelOf(screen.words, screen.hub);
  if (!question) return std::unexpected(question.error());
  auto done = client::AskOne(screen.hub, std::move(*question));
  if (!done) return std::unexpected(done.error());
  SayEnded(screen, done->jobs);
  std::vector<std::string> cancelled;
  if (!done->jobs.changed.empty()) cancelled.push_back(JobsText(done->jobs.changed));
  for (const wire::TaskCount& of : done->tasks) {
    if (of.count > 0) {
      cancelled.push_back(fmt::format("{} of job {}", CountOf(of.count, "task"), of.job.value));
    } else {
      screen.Say(fmt::format("no chosen task of job {} is queued or running", of.job.value));
    }
  }
  if (!cancelled.empty()) screen.Say(fmt::format("{} cancelled", fmt::join(cancelled, ", ")));
  return kExitSuccess;
}

Result<int> Forget(const HubScreen& screen) {
  wire::Forget question{.jobs = {}, .older_than = {}, .dry_run = screen.words.Has(Opt::kDryRun)};
  auto older = screen.words.Last(Opt::kOlderThan);
  if (older) {
    auto age = ParseDuration(*older);
    if (!age) return Within("--older-than", age.error());
    question.older_than = *age;
  } else if (screen.words.words.empty()) {
    return Fail(ErrorKind::kInvalid, "which jobs? Write their numbers, or --older-than T");
  } else {
    auto jobs = SelectJobs(screen.words.words);
    if (!jobs) return std::unexpected(jobs.error());
    question.jobs = std::move(*jobs);
  }
  bool dry = question.dry_run;
  auto done = client::AskOne(screen.hub, std::move(question));
  if (!done) return std::unexpected(done.error());
  std::string more;
  if (done->more) {
    more = fmt::format("; there are more: spate job forget{} --older-than {}", screen.reach,
                       EscapeForScreen(*older));
  }
  screen.Say(fmt::format("{}{} forgotten{}", dry ? "would be: " : "", JobsText(done->jobs), more));
  return kExitSuccess;
}

// ---- Retry -------------------------------------------------------------------------------------

Status TakeTimeLimit(const Words& words, wire::Retry& question) {
  auto value = words.Last(Opt::kTimeLimit);
  if (!value) return {};
  auto limit = ParseTimeLimit(*value);
  if (!limit) return Within("--time-limit", limit.error());
  question.time_limit = limit->limit;
  question.time_limit_percent = limit->percent;
  return {};
}

Result<wire::Retry> RetryOf(const Words& words, client::Asker& hub) {
  if (auto used = CheckUses(Way::kHubRetry, words); !used) return std::unexpected(used.error());
  wire::Retry question;
  auto needs = MakeNeedsChange(words);
  if (!needs) return std::unexpected(needs.error());
  question.needs = std::move(*needs);
  if (auto taken = TakeTimeLimit(words, question); !taken) return std::unexpected(taken.error());
  auto tasks = format::ParseTaskSelector(words.words.empty() ? "last" : words.words.front());
  if (!tasks) return std::unexpected(tasks.error());
  if (tasks->size() != 1) {
    return Fail(ErrorKind::kInvalid, "name one job, as in: spate job retry 12, or 12.3-9");
  }
  if (auto found = LookUpNames(hub, *tasks); !found) return std::unexpected(found.error());
  question.tasks = std::move(tasks->front());
  question.dry_run = words.Has(Opt::kDryRun);
  return question;
}

Result<int> Retry(const HubScreen& screen) {
  auto question = RetryOf(screen.words, screen.hub);
  if (!question) return std::unexpected(question.error());
  bool dry = question->dry_run;
  auto done = client::AskOne(screen.hub, std::move(*question));
  if (!done) return std::unexpected(done.error());
  uint32_t job = done->job.value;
  std::string tasks = CountOf(done->count, "task");
  if (done->count == 0) {
    screen.Say(fmt::format("nothing to retry: no chosen task of job {} has failed", job));
  } else if (dry) {
    screen.Say(fmt::format("would be: job {}: {} run again", job, tasks));
  } else {
    screen.Say(
        fmt::format("job {0}: {1} run again as submitted (no list is read again); to wait "
                    "for them: spate job wait{2} {0}",
                    job, tasks, screen.reach));
  }
  return kExitSuccess;
}

}  // namespace

HubVerb JobVerbOf(Command command) {
  switch (command) {
    case Command::kJobCancel:
      return Cancel;
    case Command::kJobHold:
      return Hold;
    case Command::kJobClose:
      return [](const HubScreen& screen) {
        return Change(screen, {.jobs = {}, .change = Of::kClose}, "takes no more tasks");
      };
    case Command::kJobForget:
      return Forget;
    case Command::kJobSet:
      return Set;
    case Command::kJobRelease:
      return [](const HubScreen& screen) {
        return Change(screen, {.jobs = {}, .change = Of::kRelease}, "may go on");
      };
    case Command::kJobRetry:
      return Retry;
    default:
      return nullptr;
  }
}

}  // namespace spate::cli
