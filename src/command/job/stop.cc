// `spate job stop`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/steering.h"

namespace spate::cli::command {
namespace {

Result<int> StopJobs(const HubScreen& screen) {
  return Steer(screen, TRY(SteerOf(screen, Steering::kStop, screen.words.words)), "stopped");
}

}  // namespace

extern const Command kJobStop = {
    .order = 211,
    .group = CommandGroup::kRunning,
    .name = "job stop",
    .arguments = "JOB|TASK... | --user NAME",
    .completes = Completes::kUnfinishedJobs,
    .summary = "freeze running tasks, and start no more of them, until job cont",
    .details =
        "All processes of the tasks stop where they are, on all nodes. Tasks that wait, retries "
        "included, are not started. The command waits up to 5 s for the nodes to confirm, and "
        "names "
        "those that have not. A stopped task keeps its processors and memory. Its time limit does "
        "not run; a deadline does. A hub ends a task that was stopped for --max-frozen (default: "
        "7d).",
    .examples = {{{"spate job stop 12", "running and waiting tasks"},
                  {"spate job stop 12.3", "one task"},
                  {"spate job stop 12.3-9", "some of its tasks"}}},
    .options = {{opt::kAboutJobs, opt::kJobsOfUser}},
    .run = Order<StopJobs>,
};

}  // namespace spate::cli::command
