// `spate job release`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/hub_screen.h"
#include "command/job/job_changes.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<int> ReleaseJobs(const HubScreen& screen) {
  return ChangeJobs(screen, {.jobs = {}, .change = wire::ChangeJobs::Change::kRelease}, "released");
}

}  // namespace

extern const Command kJobRelease = {
    .order = 230,
    .group = CommandGroup::kRunning,
    .name = "job release",
    .arguments = "JOB... | --user NAME",
    .completes = Completes::kUnfinishedJobs,
    .summary = "release held jobs",
    .details = "",
    .examples = {{{"spate job release 12", "after spate job hold 12"},
                  {"spate job release 12-15", "several"}}},
    .options = {{opt::kAboutJobs, opt::kJobsOfUser}},
    .run = Order<ReleaseJobs>,
};

}  // namespace spate::cli::command
