#include "command/job/output.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "view/failures.h"
#include "view/why_not.h"

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

Result<std::optional<uint32_t>> RankOf(const Words& words, const Option& option) {
  auto value = words.Last(option);
  if (!value) return std::nullopt;
  auto rank = ParseCount(*value);
  if (!rank) return Within("--rank", std::move(rank.error()));
  if (*rank >= UINT32_MAX)
    return Fail(ErrorKind::kInvalid, "--rank: no gang has that many processes");
  return static_cast<uint32_t>(*rank);
}

void PutBytes(HistoryCall& call, Streams streams, const OutputFacts& piece) {
  if (piece.stream != 2 || streams == Streams::kStderr) {
    call.Write(piece.text);
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

namespace {

constexpr Duration kCallAgain = Duration::Millis(500);

// Tells the reason why the job waits, when that has changed.
class WaitTeller {
 public:
  explicit WaitTeller(HistoryCall& call) : call_(call) {}
  void Look(const JobSelector& job);

 private:
  HistoryCall& call_;
  std::string told_;
};

void WaitTeller::Look(const JobSelector& job) {
  if (!call_.on_hub()) return;
  JobSelector one{.all = false, .last = job.ranges.empty(), .ranges = job.ranges};
  (void)call_.Query(wire::LookAtJobs{std::move(one)}, [&](const wire::JobNow& now) {
    std::string key = KeyOfWait(now);
    const std::string why = WhyNot(now, call_.StateOption());
    if (key != std::exchange(told_, key) && !why.empty()) call_.Report(why);
  });
}

}  // namespace

Result<int> FollowOutput(HistoryCall& call, uint64_t lines) {
  auto streams = TRY(StreamsOf(call.words()));
  auto job = TRY(SelectOneJob(call.words()));
  wire::TailOutput question{std::move(job), streams, lines, /*follow=*/true};
  WaitTeller waits(call);
  bool finished = false;
  bool away = false;  // and that was told
  while (!finished) {
    waits.Look(question.job);
    auto told = call.Query(question, [&](const OutputFacts& piece) {
      away = false;
      if (piece.what == OutputFacts::What::kPosition) {
        question.after = piece.count;
        question.job = {.ranges = {{piece.job.value, piece.job.value, 1}}};
      }
      finished |= piece.what == OutputFacts::What::kFinished;
      if (piece.what == OutputFacts::What::kBytes) PutBytes(call, streams, piece);
      (void)call.Flush();
    });
    if (told) continue;
    if (told.error().kind != ErrorKind::kUnavailable || !question.after) {
      return std::unexpected(std::move(told.error()));
    }
    if (!std::exchange(away, true)) {
      call.Report(fmt::format("the hub is unreachable ({}); trying again", told.error().message));
    }
    if (call.environment().pause) call.environment().pause(kCallAgain);
  }
  return AskNotKept(*TRY(call.Whom()), question.job, [&](auto text) { call.Report(text); })
      .value_or(kExitSuccess);
}

}  // namespace spate::cli
