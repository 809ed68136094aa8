// `spate job cont`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/steering.h"

namespace spate::cli::command {
namespace {

Result<int> ContinueJobs(const HubScreen& screen) {
  return Steer(screen, TRY(SteerOf(screen, Steering::kContinue, screen.words.words)), "continued");
}

}  // namespace

extern const Command kJobCont = {
    .order = 212,
    .group = CommandGroup::kRunning,
    .name = "job cont",
    .arguments = "JOB|TASK... | --user NAME",
    .completes = Completes::kUnfinishedJobs,
    .summary = "continue stopped jobs or tasks",
    .details =
        "Frozen processes run on, and waiting tasks may start. Tasks of a job that is stopped as a "
        "whole continue only with the job.",
    .examples = {{{"spate job cont 12", "all that is stopped of job 12"},
                  {"spate job cont 12.3", "a task that was stopped by itself"}}},
    .options = {{opt::kAboutJobs, opt::kJobsOfUser}},
    .run = Order<ContinueJobs>,
};

}  // namespace spate::cli::command
