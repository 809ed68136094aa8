// `spate job close`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/hub_screen.h"
#include "command/job/job_changes.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<int> CloseJobs(const HubScreen& screen) {
  return ChangeJobs(screen, {.jobs = {}, .change = wire::ChangeJobs::Change::kClose},
                    "closed to new tasks");
}

}  // namespace

extern const Command kJobClose = {
    .order = 260,
    .group = CommandGroup::kHub,
    .name = "job close",
    .arguments = "JOB...",
    .completes = Completes::kUnfinishedJobs,
    .summary = "close jobs to new tasks, so that they can end",
    .details = "",
    .examples = {{{"spate job close 12", "after the last spate job add"},
                  {"spate job close last", "the newest job"}}},
    .words_min = 1,
    .options = {{opt::kAboutHubJobs}},
    .run = AskHub<CloseJobs>,
};

}  // namespace spate::cli::command
