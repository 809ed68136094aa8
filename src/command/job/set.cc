// `spate job set`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "cli/options/submit_options.h"
#include "command/hub_screen.h"
#include "command/job/job_changes.h"
#include "os/clock.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<int> SetJobs(const HubScreen& screen) {
  auto change = TRY(MakeJobChange(screen.words, os::Clock().Now()));
  return ChangeJobs(screen, {.change = wire::ChangeJobs::Change::kSet, .set = std::move(change)},
                    "changed");
}

}  // namespace

extern const Command kJobSet = {
    .order = 240,
    .group = CommandGroup::kHub,
    .name = "job set",
    .arguments = "JOB... OPTION...",
    .completes = Completes::kUnfinishedJobs,
    .summary = "change weight, task limit, priority or times of unfinished jobs",
    .details =
        "--time and --deadline change the tasks that no node has yet. A limit of time that was "
        "given "
        "(--time-limit) stays. --deadline none removes it.",
    .examples = {{{"spate job set 12 --max-running 10", "at most 10 tasks at once"},
                  {"spate job set 12 --weight 3", "weight 3; the default is 100"},
                  {"spate job set 12 --priority 10", "before your other jobs"},
                  {"spate job set 12 --time 2h --deadline +1d", "plan its waiting tasks anew"}}},
    .words_min = 1,
    .options = {{opt::kAboutHubJobs, opt::kJobWeight, opt::kMaxRunning, opt::kPriority,
                 opt::kPlanTime, opt::kDeadline}},
    .run = AskHub<SetJobs>,
};

}  // namespace spate::cli::command
