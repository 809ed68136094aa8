// Jobs are removed whole, each with its folder. A job that is named and runs is refused before
// anything is removed; where jobs are chosen by `all` or by age, those that run are passed over.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/state/runs.h"
#include "cli/table/text_width.h"
#include "format/selector/selector.h"
#include "history/state_size.h"

namespace spate::cli {
namespace {

struct Candidate {
  uint32_t number = 0;
  std::string name;
  uint64_t bytes = 0;
};

bool ChoosesAll(const Words& words) {
  return std::ranges::any_of(words.words, [](const std::string& word) {
    auto selector = format::ParseJobSelector(word);
    return selector && selector->all;
  });
}

Result<std::optional<Duration>> AgeOf(const Words& words) {
  auto value = words.Last(Opt::kOlderThan);
  if (!value) return std::nullopt;
  auto age = ParseDuration(*value);
  if (!age) return Within("--older-than", std::move(age.error()));
  return *age;
}

std::unexpected<Error> StillRuns(uint32_t number, int64_t pid) {
  return Fail(ErrorKind::kBusy,
              fmt::format("job {} is run by process {}: stop it first (Ctrl-C, or kill {}); "
                          "nothing was removed",
                          number, pid, pid));
}

// Those of `numbers` that are to go.
Result<std::vector<Candidate>> Choose(HistoryCall& call, const std::vector<uint32_t>& numbers,
                                      std::optional<Duration> age, bool by_name) {
  std::vector<Candidate> chosen;
  for (uint32_t number : numbers) {
    std::string path = store::JobPath(call.state_dir(), number);
    auto owner = store::RunningOwner(path);
    if (owner && *owner) {
      if (by_name) return StillRuns(number, (*owner)->pid);
      call.Say(fmt::format("job {} is kept: process {} runs it", number, (*owner)->pid));
      continue;
    }
    auto summary = store::SummarizeJob(call.state_dir(), number);
    if (age) {
      bool old = summary && summary->standing == JobStanding::kFinished && summary->row.ended &&
                 call.now() - *summary->row.ended > *age;
      if (!old) continue;
    }
    chosen.push_back({number, summary ? NameOf(summary->row) : "", history::FolderBytes(path)});
  }
  return chosen;
}

void Tell(HistoryCall& call, const Candidate& job, bool dry_run) {
  switch (call.form()) {
    case OutputForm::kQuiet:
      call.Put(fmt::format("{}\n", job.number));
      return;
    case OutputForm::kJson: {
      JsonLine line = TypedLine("forgotten");
      line.Number("job", job.number);
      TextOrBase64(line, "name", job.name);
      line.Number("bytes", static_cast<int64_t>(job.bytes)).Flag("dry_run", dry_run);
      call.Put(line);
      return;
    }
    case OutputForm::kHuman:
      break;
  }
  std::string what = fmt::format("{} job {} ({})", dry_run ? "would remove" : "removed", job.number,
                                 FormatSize(job.bytes));
  call.Put(CutToWidth(fmt::format("{}  {}", what, EscapeForScreen(job.name)), call.width()) + '\n');
}

}  // namespace

Result<int> JobForget(HistoryCall& call) {
  const Words& words = call.words();
  auto age = AgeOf(words);
  if (!age) return std::unexpected(std::move(age.error()));
  if (words.words.empty() && !*age) {
    return Fail(ErrorKind::kInvalid,
                "name the jobs to remove: spate job forget 3, 1-10 or all, or --older-than 30d");
  }
  auto numbers = PickRuns(call, words.words);
  bool by_name = !words.words.empty() && !ChoosesAll(words) && !*age;
  if (!numbers && !by_name && numbers.error().kind == ErrorKind::kNotFound) {
    if (call.human()) call.Say(numbers.error().message);
    return kExitSuccess;
  }
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  auto chosen = Choose(call, *numbers, *age, by_name);
  if (!chosen) return std::unexpected(std::move(chosen.error()));
  bool dry_run = words.Has(Opt::kDryRun);
  int code = kExitSuccess;
  for (const Candidate& job : *chosen) {
    Status forgotten;
    if (!dry_run) forgotten = store::ForgetJob(call.state_dir(), job.number);
    if (forgotten) {
      Tell(call, job, dry_run);
    } else {
      call.Say(forgotten.error().message);
      code = ExitCodeOf(forgotten.error().kind);
    }
  }
  if (!dry_run) store::SweepForgotten(call.state_dir());
  if (chosen->empty() && call.human()) call.Say("there is no such job to remove");
  return code;
}

}  // namespace spate::cli
