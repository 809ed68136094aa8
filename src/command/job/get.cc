// `spate job get`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "submit/hub_files.h"

namespace spate::cli::command {

extern const Command kJobGet = {
    .order = 80,
    .group = CommandGroup::kHistory,
    .name = "job get",
    .arguments = "[JOB [DIR]]",
    .completes = Completes::kJobs,
    .summary = "write the files that --get copied back (default: last, .)",
    .details =
        "These are the files that --get named, from the last attempt of each task. They get the "
        "same names below DIR. JOB may name tasks: 12.3-9 means tasks 3 to 9 of job 12.",
    .examples = {{{"spate job get 12", "into this folder"},
                  {"spate job get 12.3-9 results", "of these tasks, below results"}}},
    .words_max = 2,
    .options = {{opt::kAboutHubJobs}},
    .run = submit::GetFiles,
};

}  // namespace spate::cli::command
