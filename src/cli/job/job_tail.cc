// The last lines that the tasks of a job wrote, in the order in which they ended, as tail(1).
#include <fmt/format.h>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/job/job_verbs.h"
#include "cli/job/output.h"

namespace spate::cli {
namespace {

constexpr uint64_t kLines = 10;

}  // namespace

Result<int> JobTail(HistoryCall& call) {
  uint64_t lines = kLines;
  if (auto value = call.words().Last(Opt::kLines)) {
    auto count = ParseCount(*value);
    if (!count) return Within("--lines", std::move(count.error()));
    lines = *count;
  }
  if (call.words().Has(Opt::kFollowOutput)) return FollowOutput(call, lines);
  auto streams = StreamsOf(call.words());
  if (!streams) return std::unexpected(std::move(streams.error()));
  auto job = SelectOneJob(call.words());
  if (!job) return std::unexpected(std::move(job.error()));
  auto told =
      call.Ask(wire::TailOutput{std::move(*job), *streams, lines}, [&](const OutputFacts& piece) {
        if (piece.what == OutputFacts::What::kBytes) return PutBytes(call, *streams, piece);
        call.Say(fmt::format("no task of job {} has written anything yet", piece.job.value));
      });
  if (!told) return std::unexpected(std::move(told.error()));
  return kExitSuccess;
}

}  // namespace spate::cli
