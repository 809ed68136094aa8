// `spate job progress`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "submit/hub_submit.h"

namespace spate::cli::command {

extern const Command kJobProgress = {
    .order = 190,
    .group = CommandGroup::kRunning,
    .name = "job progress",
    .arguments = "[JOB]",
    .completes = Completes::kUnfinishedJobs,
    .summary = "show a progress bar until a job has ended (default: last)",
    .details = "Ctrl-C ends the progress bar, never the job.",
    .examples = {{{"spate job progress", "of the newest job"},
                  {"spate job progress 12", "of job 12"}}},
    .words_max = 1,
    .options = {{opt::kAboutJobs}},
    .run =
        [](const Invocation& invocation) {
          bool bar = true;
          return invocation.wiring->world->OrdersGoToHub(invocation.words)
                     ? submit::WaitForJobs(invocation, bar)
                     : submit::WaitForRuns(invocation, bar);
        },
};

}  // namespace spate::cli::command
