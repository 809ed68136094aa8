// `spate job hold`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/hub/hub_screen.h"
#include "cli/hub/job_changes.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<int> HoldJobs(const HubScreen& screen) {
  return ChangeJobs(screen, {.jobs = {}, .change = wire::ChangeJobs::Change::kHold},
                    fmt::format("held; to continue: spate job release{} {}", screen.reach,
                                fmt::join(screen.words.words, " ")));
}

}  // namespace

extern const Command kJobHold = {
    .order = 220,
    .group = CommandGroup::kRunning,
    .name = "job hold",
    .arguments = "JOB...",
    .completes = Completes::kUnfinishedJobs,
    .summary = "hold jobs: start no more of their tasks for now",
    .details =
        "Running tasks continue. `spate job release` releases the jobs. A local run waits until "
        "then; Ctrl-C there ends it as usual.",
    .examples = {{{"spate job hold 12", "until spate job release 12"},
                  {"spate job hold all", "all unfinished jobs"}}},
    .words_min = 1,
    .options = {{opt::kAboutJobs}},
    .run = Order<HoldJobs>,
};

}  // namespace spate::cli::command
