// `spate run`
#include <fmt/format.h>

#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/foreign.h"
#include "cli/options/job_words.h"
#include "cli/options/shared.h"
#include "run/local_run.h"
#include "submit/hub_submit.h"

namespace spate::cli::command {
namespace {

int Run(const Invocation& invocation) {
  const Words& words = invocation.words;
  if (words.Last(opt::kRunPool)) return submit::RunWithPool(invocation);
  bool hub = words.Has(opt::kHub) || words.Last(opt::kAccess);
  return hub ? submit::SubmitToHub(invocation) : run::RunLocally(invocation);
}

std::optional<std::string> Hint(std::string_view typed) {
  auto parallel = ForeignHint(typed.substr(typed.find_first_not_of('-')));
  auto batch = BatchSystemHint(typed);
  if (!parallel || !batch) return parallel ? parallel : batch;
  return fmt::format("{}; if you mean GNU parallel's: {}", *batch, *parallel);
}

}  // namespace

extern const Command kSpateRun = {
    .order = 10,
    .group = CommandGroup::kMachine,
    .name = "run",
    .arguments = "FILE... | - | -- COMMAND [{}] [::: VALUES]...",
    .completes = Completes::kFiles,
    .summary = "run the commands of a job list, or one command for many values",
    .details =
        "FILE is a job list with one command per line; - is standard input. After -- comes a "
        "command with placeholders ({} {.} {/} {//} {/.} {#} {%} {1} ...) and sources of values: "
        "::: VALUE..., :::+ VALUE... (linked to the source before it), :::: FILE..., -a FILE. "
        "Without a source, the values are the lines of standard input if that is a pipe or a file; "
        "otherwise the command runs once, as written. A command without a placeholder gets its "
        "value at the end. Several words after -- keep their boundaries; one word with blanks is "
        "shell text.\nThe end of every task is stored: after a kill or a power failure, `spate run "
        "--resume` continues where the run stopped, and `spate job retry last` retries the failed "
        "tasks. The first Ctrl-C lets running tasks end; the second terminates them.",
    .examples = {{{"spate run jobs.lst", "the lines of a file, on all cores"},
                  {"spate run -j 8 -- gzip {} ::: *.txt", "one command, for many values"},
                  {"ls *.png | spate run -- optipng {}", "values from standard input"},
                  {"spate run --resume jobs.lst", "resume after a kill or a power failure"}}},
    .footer = "T is a time (90, 1.5s, 10m, 1h30m, HH:MM:SS), SIZE is bytes (64K, 512M, 2G).",
    .makes = Makes::kRun,
    .takes_command = true,
    .options = {{opt::kOfRun}},
    .hint = Hint,
    .ignores = IsForeignIgnored,
    .run = Run,
};

}  // namespace spate::cli::command
