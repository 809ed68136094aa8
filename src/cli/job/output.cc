#include "cli/job/output.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/history/why_not.h"
#include "cli/options/shared.h"

namespace spate::cli {

using wire::Streams;

Result<Streams> StreamsOf(const Words& words) {
  auto value = words.Last(opt::kStream);
  if (!value || *value == "both") return Streams::kBoth;
  if (*value == "stdout") return Streams::kStdout;
  if (*value == "stderr") return Streams::kStderr;
  return Fail(ErrorKind::kInvalid, fmt::format("--stream: '{}' is not one of: {}",
                                               EscapeForScreen(*value), opt::kStream.words));
}

void PutBytes(HistoryCall& call, Streams streams, const OutputFacts& piece) {
  if (piece.stream != 2 || streams == Streams::kStderr) {
    call.Put(piece.text);
  } else {
    (void)call.Flush();
    call.environment().write_err(piece.text);
  }
}

Result<JobSelector> SelectOneJob(const Words& words) {
  auto job = SelectJobs(words.words);
  if (!job) return job;
  bool several = job->all || job->ranges.size() + (job->last ? 1 : 0) > 1;
  if (!several) return job;
  return Fail(ErrorKind::kInvalid,
              fmt::format("name one job, as in: spate {} 12", words.command->name));
}

Result<int> FollowOutput(HistoryCall& call, uint64_t lines) {
  auto streams = TRY(StreamsOf(call.words()));
  auto job = TRY(SelectOneJob(call.words()));
  // A reader of output that cannot come now is told at once.
  if (call.on_hub()) {
    JobSelector last{.all = false, .last = job.ranges.empty(), .ranges = job.ranges};
    (void)call.Ask(wire::LookAtJobs{std::move(last)}, [&](const wire::JobNow& now) {
      std::string why = WhyNot(now, call.StateOption());
      if (!why.empty()) call.Say(why);
    });
  }
  wire::TailOutput question{std::move(job), streams, lines, /*follow=*/true};
  auto told = call.Ask(std::move(question), [&](const OutputFacts& piece) {
    PutBytes(call, streams, piece);
    (void)call.Flush();
  });
  return told ? Result<int>(kExitSuccess) : std::unexpected(std::move(told.error()));
}

}  // namespace spate::cli
