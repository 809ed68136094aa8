// `spate job add`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/foreign.h"
#include "cli/options/job_words.h"
#include "cli/options/shared.h"
#include "submit/hub_submit.h"

namespace spate::cli::command {

extern const Command kJobAdd = {
    .order = 250,
    .group = CommandGroup::kHub,
    .name = "job add",
    .arguments = "JOB FILE... | - | -- COMMAND [::: VALUES]...",
    .completes = Completes::kUnfinishedJobs,
    .summary = "add tasks to a job that was submitted with --open",
    .details =
        "A job from a list accepts lists; a job from a command accepts values for that command.",
    .examples = {{{"spate job add 12 more.lst", "to a job from a list"},
                  {"spate job add 12 -- ./sim {} ::: 4 5", "to a job from a command"}}},
    .makes = Makes::kAddition,
    .words_min = 1,
    .takes_command = true,
    .options = {{opt::kOfAdd}},
    .hint = BatchSystemHint,
    .run = submit::SubmitToHub,
};

}  // namespace spate::cli::command
