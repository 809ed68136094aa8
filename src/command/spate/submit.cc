// `spate submit`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/foreign.h"
#include "cli/options/job_words.h"
#include "cli/options/shared.h"
#include "submit/hub_submit.h"

namespace spate::cli::command {

extern const Command kSpateSubmit = {
    .order = 170,
    .group = CommandGroup::kHub,
    .name = "submit",
    .arguments = "FILE... | - | -- COMMAND [{}] [::: VALUES]...",
    .completes = Completes::kFiles,
    .summary = "submit a job to a hub and print its number",
    .details =
        "Tasks come from the same sources as for `spate run`. The number is printed when the job "
        "is durable: whatever is killed from then on, none of its tasks is lost. The tasks run in "
        "the current folder, with the current umask and environment (see --env).",
    .examples = {{{"spate submit jobs.lst", "the lines of a file"},
                  {"spate submit --wait -- ./sim {} ::: 1 2 3", "and wait until it has ended"},
                  {"spate submit --array 1-1000 -- ./sim {}", "1000 tasks"},
                  {"spate submit --after ok:12 -- ./merge", "when job 12 has succeeded"}}},
    .makes = Makes::kSubmission,
    .takes_command = true,
    .options = {{opt::kOfSubmit}},
    .hint = BatchSystemHint,
    .run = submit::SubmitToHub,
};

}  // namespace spate::cli::command
