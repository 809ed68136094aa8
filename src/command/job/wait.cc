// `spate job wait`
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/job/job_text.h"
#include "present/json/json_fields.h"
#include "submit/hub_submit.h"

namespace spate::cli::command {
namespace {

// The jobs as they are when the wait is over.
Result<int> PutJobs(HistoryCall& call) {
  auto jobs = TRY(SelectJobs(call.words().words));
  wire::ListJobs question;
  question.jobs = std::move(jobs);
  question.whole = true;
  question.most = UINT64_MAX;
  TRY(call.Query(std::move(question), [&](const wire::JobsListed& listed) {
    for (const JobFacts& job : listed.jobs) call.Write(present::JsonOf("job", WithOutcome(job)));
  }));
  return kExitSuccess;
}

}  // namespace

extern const Command kJobWait = {
    .order = 180,
    .group = CommandGroup::kRunning,
    .name = "job wait",
    .arguments = "[JOB...]",
    .completes = Completes::kUnfinishedJobs,
    .summary = "wait until jobs have ended (default: last)",
    .details =
        "The exit code is 0 if all tasks of the jobs succeeded, else 1. What a job waits for is "
        "printed when that changes. A lost connection is re-established. A local run that no "
        "process carries on is not waited for.",
    .examples = {{{"spate job wait", "for the newest job"},
                  {"spate job wait 12 13 && ./merge", "for two jobs, then run a command"},
                  {"spate job wait 12 --timeout 10m", "for 10 minutes at most"}}},
    .options = {{opt::kAboutJobs, opt::kTimeout}},
    .run =
        [](const Invocation& invocation) {
          const bool bar = false;
          const int code = invocation.wiring->world->OrdersGoToHub(invocation.words)
                               ? submit::WaitForJobs(invocation, bar)
                               : submit::WaitForRuns(invocation, bar);
          const bool over =
              code == kExitSuccess || code == kExitTasksFailed || code == kExitTimedOut;
          if (!over || OutputFormOf(invocation.words) != OutputForm::kJson) return code;
          const int told = LookAtJobs<PutJobs>(invocation);
          return told == kExitSuccess ? code : told;
        },
};

}  // namespace spate::cli::command
