// `spate job set`
#include "cli/hub/hub_screen.h"
#include "cli/hub/job_changes.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "cli/options/submit_options.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<int> SetJobs(const HubScreen& screen) {
  auto changes = TRY(MakeJobChanges(screen.words));
  return ChangeJobs(screen,
                    {.jobs = {},
                     .change = wire::ChangeJobs::Change::kSet,
                     .weight = changes.weight,
                     .max_running = changes.max_running},
                    "changed");
}

}  // namespace

extern const Command kJobSet = {
    .order = 240,
    .group = CommandGroup::kHub,
    .name = "job set",
    .arguments = "JOB... [--weight N] [--max-running N]",
    .completes = Completes::kUnfinishedJobs,
    .summary = "change the weight or task limit of unfinished jobs",
    .details = "",
    .examples = {{{"spate job set 12 --max-running 10", "at most 10 tasks at once"},
                  {"spate job set 12 --weight 3", "weight 3; the default is 100"}}},
    .words_min = 1,
    .options = {{opt::kAboutHubJobs, opt::kJobWeight, opt::kMaxRunning}},
    .run = AskHub<SetJobs>,
};

}  // namespace spate::cli::command
