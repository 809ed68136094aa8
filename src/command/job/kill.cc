// `spate job kill`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/steering.h"

namespace spate::cli::command {
namespace {

Result<int> KillJobs(const HubScreen& screen) {
  return Steer(screen, TRY(SteerOf(screen, Steering::kKill, screen.words.words)), "killed");
}

}  // namespace

extern const Command kJobKill = {
    .order = 205,
    .group = CommandGroup::kRunning,
    .name = "job kill",
    .arguments = "JOB|TASK... | --user NAME",
    .completes = Completes::kUnfinishedJobs,
    .summary = "end jobs or tasks at once, with SIGKILL to every process",
    .details =
        "The tasks end as cancelled, without retries; waiting tasks never start. `spate job "
        "cancel` "
        "sends SIGTERM first, and lets tasks clean up.",
    .examples = {{{"spate job kill 12", "running and waiting tasks"},
                  {"spate job kill 12.3-9", "only these tasks"}}},
    .options = {{opt::kAboutJobs, opt::kJobsOfUser}},
    .run = Order<KillJobs>,
};

}  // namespace spate::cli::command
