// `spate job wait`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "run/run_wait.h"
#include "submit/hub_submit.h"

namespace spate::cli::command {

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
          bool bar = false;
          return invocation.wiring->world->OrdersGoToHub(invocation.words)
                     ? submit::WaitForJobs(invocation, bar)
                     : run::WaitForRuns(invocation, bar);
        },
};

}  // namespace spate::cli::command
