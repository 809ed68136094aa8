// `spate job hold`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/hub_screen.h"
#include "command/job/job_changes.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<int> HoldJobs(const HubScreen& screen) {
  std::string jobs = fmt::format("{}", fmt::join(screen.words.words, " "));
  if (auto user = screen.words.Last(opt::kJobsOfUser)) jobs = "--user " + ShellQuote(*user);
  return ChangeJobs(screen, {.jobs = {}, .change = wire::ChangeJobs::Change::kHold},
                    fmt::format("held; to continue: spate job release{} {}", screen.reach, jobs));
}

}  // namespace

extern const Command kJobHold = {
    .order = 220,
    .group = CommandGroup::kRunning,
    .name = "job hold",
    .arguments = "JOB... | --user NAME",
    .completes = Completes::kUnfinishedJobs,
    .summary = "hold jobs: start no more of their tasks for now",
    .details =
        "Running tasks continue; `spate job stop` freezes them, too. `spate job release` releases "
        "the jobs. A local run waits until "
        "then; Ctrl-C there ends it as usual.",
    .examples = {{{"spate job hold 12", "until spate job release 12"},
                  {"spate job hold all", "all unfinished jobs"},
                  {"spate job hold --user ann", "all of a user's, as an administrator"}}},
    .options = {{opt::kAboutJobs, opt::kJobsOfUser}},
    .run = Order<HoldJobs>,
};

}  // namespace spate::cli::command
