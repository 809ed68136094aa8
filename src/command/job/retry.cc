// `spate job retry`
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/advice.h"
#include "base/units.h"
#include "cli/conclude.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/job_words.h"
#include "cli/options/needs_change.h"
#include "cli/options/option_uses.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "cli/options/values.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "command/job/job_changes.h"
#include "format/selector/selector.h"
#include "present/text/end_text.h"
#include "run/local_run.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Status TakeTimeLimit(const Words& words, wire::Retry& question) {
  auto value = words.Last(opt::kTimeLimit);
  if (!value) return {};
  auto limit = ParseTimeLimit(*value);
  if (!limit) return Within("--time-limit", limit.error());
  question.time_limit = limit->limit;
  question.time_limit_percent = limit->percent;
  return {};
}

// `word` names the job, or tasks of it.
Result<wire::Retry> RetryOf(const Words& words, const std::string& word, client::Asker& hub) {
  wire::Retry question;
  auto needs = TRY(MakeNeedsChange(words));
  question.needs = std::move(needs);
  TRY(TakeTimeLimit(words, question));
  auto tasks = TRY(format::ParseTaskSelector(word));
  if (tasks.size() != 1) {
    return Fail(ErrorKind::kInvalid,
                "name each job with a separate word, as in: spate job retry 12 13.3-9");
  }
  TRY(LookUpNames(hub, tasks));
  question.tasks = std::move(tasks.front());
  question.dry_run = words.Has(opt::kDryRun);
  question.succeeded = words.Has(opt::kSucceeded);
  return question;
}

std::string NumbersText(const std::vector<JobId>& jobs, std::string_view separator) {
  std::string text;
  for (JobId job : jobs) {
    text += fmt::format("{}{}", text.empty() ? "" : separator, job.value);
  }
  return text;
}

// They ended as the job did not succeed, and stay so when it is retried.
void TellDependents(const HubScreen& screen, JobId job) {
  auto found = client::QueryOne(screen.hub, wire::FindDependents{.job = job});
  // An older hub does not know the question.
  if (!found || found->count == 0) return;
  const std::string again =
      fmt::format("spate job retry{} {}", screen.reach, NumbersText(found->jobs, " "));
  if (found->count == 1) {
    screen.Report(
        fmt::format("job {}, which waited for job {}, was cancelled; to have it wait again: {}",
                    found->jobs.front().value, job.value, again));
    return;
  }
  std::string which = "them";
  if (found->count > found->jobs.size()) {
    which = fmt::format("the first {}", found->jobs.size());
  }
  screen.Report(
      fmt::format("{} jobs that waited for job {} were cancelled; to have {} wait again: {}",
                  FormatCount(found->count), job.value, which, again));
}

Status RetryOne(const HubScreen& screen, const std::string& word) {
  auto question = TRY(RetryOf(screen.words, word, screen.hub));
  bool dry = question.dry_run;
  auto done = TRY(client::QueryOne(screen.hub, std::move(question)));
  uint32_t job = done.job.value;
  if (screen.form == OutputForm::kJson) {
    const char* change = done.count == 0 ? "none" : dry ? "would be retried" : "retried";
    TRY(PutChange(screen, done.job, change, done.count));
    if (done.count == 0) return {};
  }
  std::string tasks = present::CountOf(done.count, "task");
  if (done.count == 0) {
    screen.Report(fmt::format("nothing to retry: no selected task of job {} has {}", job,
                              screen.words.Has(opt::kSucceeded) ? "succeeded" : "failed"));
    return {};
  }
  if (dry) {
    screen.Report(fmt::format("would be: job {}: {} run again", job, tasks));
  } else {
    screen.Report(
        fmt::format("job {0}: {1} run again as submitted (no list is read again); to wait "
                    "for them: spate job wait{2} {0}",
                    job, tasks, screen.reach));
  }
  if (!done.waits_for.empty()) {
    screen.Report(fmt::format("job {} {} first for job {} again", job, dry ? "would wait" : "waits",
                              NumbersText(done.waits_for, ", ")));
  }
  if (!done.ended.empty()) {
    screen.Report(fmt::format("job {} does not wait for job {}, which {} ended", job,
                              NumbersText(done.ended, ", "),
                              done.ended.size() == 1 ? "has" : "have"));
  }
  TellDependents(screen, done.job);
  return {};
}

// A whole job is not run again by a slip.
Status CheckNamesTasks(const Words& words) {
  auto names_tasks = [](const std::string& word) { return word.find('.') != std::string::npos; };
  const bool all = !words.words.empty() && std::ranges::all_of(words.words, names_tasks);
  if (!words.Has(opt::kSucceeded) || all) return {};
  return Fail(ErrorKind::kInvalid, "--succeeded: name the tasks that are to run again",
              Remedy(", as in: {}", Advice("job retry", "--succeeded", "12.3-9")));
}

Result<int> RetryJobs(const HubScreen& screen) {
  TRY(CheckUses(Way::kHubRetry, screen.words));
  std::vector<std::string> words = screen.words.words;
  if (words.empty()) words.emplace_back("last");
  for (const std::string& word : words) {
    TRY(RetryOne(screen, word));
  }
  return kExitSuccess;
}

}  // namespace

extern const Command kJobRetry = {
    .order = 90,
    .group = CommandGroup::kHistory,
    .name = "job retry",
    .arguments = "[JOB...]",
    .completes = Completes::kJobs,
    .summary = "retry the failed tasks of a job (default: last)",
    .details =
        "The commands are those of the job: no list is read again (spate run --resume does that). "
        "The job keeps its number, its options and its folder. Options given here are added; if an "
        "option is given twice, the last one counts. --SWITCH=false undoes a switch. JOB may name "
        "tasks: 12.3-9 retries those of tasks 3 to 9 that did not succeed. Options for the needs "
        "of one task apply to the retried tasks, now and later. A hub's job accepts these options "
        "and, once it has ended, --time-limit; its other options stay. A hub's job waits again for "
        "those of its --after jobs that are running again. Several jobs of a hub may be named at "
        "once.",
    .examples = {{{"spate job retry", "failed tasks of the newest job"},
                  {"spate job retry 12.3-9", "these tasks of job 12"},
                  {"spate job retry 12 --memory 8G", "with more memory, from now on"},
                  {"spate job retry --succeeded 12.3", "task 3 and what waited for it"}}},
    .makes = Makes::kRetry,
    .options = {{opt::kOfRetry}},
    .run =
        [](const Invocation& invocation) {
          auto named = CheckNamesTasks(invocation.words);
          if (!named) return Conclude(invocation, std::unexpected(named.error()));
          return invocation.wiring->world->MeansHub(invocation.words)
                     ? AskHub(invocation, RetryJobs)
                     : run::RetryLocally(invocation);
        },
};

}  // namespace spate::cli::command
