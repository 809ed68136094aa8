// `spate job cancel`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "command/job/job_changes.h"
#include "format/selector/selector.h"
#include "present/text/end_text.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

// Words with a dot name tasks, others jobs.
Result<wire::Cancel> CancelOf(const HubScreen& screen) {
  wire::Cancel question;
  if (screen.words.Has(opt::kJobsOfUser) || screen.words.words.empty()) {
    auto jobs = TRY(NamedJobs(screen));
    question.jobs = std::move(jobs);
    return question;
  }
  std::vector<std::string> of_jobs;
  for (const std::string& word : screen.words.words) {
    if (word.find('.') == std::string::npos) {
      of_jobs.push_back(word);
      continue;
    }
    auto tasks = TRY(format::ParseTaskSelector(word));
    question.tasks.insert(question.tasks.end(), tasks.begin(), tasks.end());
  }
  TRY(LookUpNames(screen.hub, question.tasks));
  auto jobs = TRY(SelectJobs(of_jobs));
  question.jobs = std::move(jobs);
  return question;
}

Result<int> PutCancelled(const HubScreen& screen, const wire::Cancel::Answer& done) {
  for (JobId job : done.jobs.changed) TRY(PutChange(screen, job, "cancelled"));
  for (const wire::TaskCount& of : done.tasks) {
    TRY(PutChange(screen, of.job, of.count > 0 ? "cancelled" : "none", of.count));
  }
  return kExitSuccess;
}

Result<int> CancelJobs(const HubScreen& screen) {
  auto question = TRY(CancelOf(screen));
  auto done = TRY(client::QueryOne(screen.hub, std::move(question)));
  TRY(TellSame(screen, done.jobs.ended));
  if (screen.form == OutputForm::kJson) return PutCancelled(screen, done);
  std::vector<std::string> cancelled;
  if (!done.jobs.changed.empty()) cancelled.push_back(JobsText(done.jobs.changed));
  for (const wire::TaskCount& of : done.tasks) {
    if (of.count > 0) {
      cancelled.push_back(
          fmt::format("{} of job {}", present::CountOf(of.count, "task"), of.job.value));
    } else {
      screen.Report(fmt::format("no selected task of job {} is queued or running", of.job.value));
    }
  }
  const bool none = cancelled.empty() && done.jobs.ended.empty() && done.tasks.empty();
  if (none) screen.Report("no job is running");
  if (!cancelled.empty()) screen.Report(fmt::format("{} cancelled", fmt::join(cancelled, ", ")));
  return kExitSuccess;
}

}  // namespace

extern const Command kJobCancel = {
    .order = 200,
    .group = CommandGroup::kRunning,
    .name = "job cancel",
    .arguments = "JOB|TASK... | --user NAME",
    .completes = Completes::kUnfinishedJobs,
    .summary = "cancel jobs or tasks, whether running or waiting",
    .details =
        "JOB is a number, a range (1-10, 1-10:2), a list of these (1,3,5-8), last or all. TASK is "
        "JOB.INDEX: 12.3, 12.3-9, last.1. A task that succeeds before the cancellation reaches it "
        "counts as succeeded.",
    .examples = {{{"spate job cancel 12", "running and waiting tasks"},
                  {"spate job cancel 12.3-9", "only these tasks"},
                  {"spate job cancel last", "the newest job"},
                  {"spate job cancel --user ann", "all of a user's, as an administrator"}}},
    .options = {{opt::kAboutJobs, opt::kJobsOfUser}},
    .run = Order<CancelJobs>,
};

}  // namespace spate::cli::command
