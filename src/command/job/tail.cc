// The last lines that the tasks of a job wrote, in the order in which they ended, as tail(1).
#include <fmt/format.h>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/call.h"
#include "cli/job/output.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr Option kLastLines = {.names = "lines",
                               .letters = "n",
                               .argument = "N",
                               .heading = Heading::kSelect,
                               .help = "number of lines to print (default: 10)"};

constexpr uint64_t kLines = 10;

Result<int> JobTail(HistoryCall& call) {
  uint64_t lines = kLines;
  if (auto value = call.words().Last(kLastLines)) {
    auto count = ParseCount(*value);
    if (!count) return Within("--lines", std::move(count.error()));
    lines = *count;
  }
  if (call.words().Has(opt::kFollowOutput)) return FollowOutput(call, lines);
  auto streams = TRY(StreamsOf(call.words()));
  auto job = TRY(SelectOneJob(call.words()));
  auto told =
      call.Ask(wire::TailOutput{std::move(job), streams, lines}, [&](const OutputFacts& piece) {
        if (piece.what == OutputFacts::What::kBytes) return PutBytes(call, streams, piece);
        call.Say(fmt::format("no task of job {} has printed anything yet", piece.job.value));
      });
  if (!told) return std::unexpected(std::move(told.error()));
  return kExitSuccess;
}

}  // namespace

extern const Command kJobTail = {
    .order = 70,
    .group = CommandGroup::kHistory,
    .name = "job tail",
    .arguments = "[JOB]",
    .completes = Completes::kJobs,
    .summary = "print the last output lines of a job (default: last)",
    .details =
        "The lines are in the order in which the tasks ended, and include all tries of a task.",
    .examples = {{{"spate job tail", "the last 10 lines of the newest job"},
                  {"spate job tail 12 -n 50", "the last 50 lines of job 12"},
                  {"spate job tail --hub 12 --follow", "and new output, of a hub's job"}}},
    .words_max = 1,
    .options = {{opt::kState, opt::kStream, opt::kStderrOnly, opt::kFollowOutput, kLastLines,
                 opt::kWhose}},
    .run = LookAtJobs<JobTail>,
};

}  // namespace spate::cli::command
