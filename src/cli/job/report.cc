#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/history/suggestion.h"
#include "cli/job/job_verbs.h"
#include "cli/table/table.h"
#include "cli/view/json_fields.h"

namespace spate::cli {
namespace {

constexpr std::string_view kAlone = "alone";  // PairFacts::beside

std::string Hours(Duration time) { return fmt::format("{:.2f}", time.seconds() / 3600); }

std::vector<Cell> RowOf(const UseFacts& use) {
  std::string failed = use.failed == 0 ? "0"
                                       : fmt::format("{} ({:.1f}%)", FormatCount(use.failed),
                                                     100 * use.failed_share);
  bool known = use.suggested_memory > 0;
  return {{use.user},
          {use.job ? fmt::format("{}", use.job->value) : "all"},
          {use.name.value_or("")},
          {FormatCount(use.tasks)},
          {FormatCount(use.ends)},
          {failed, use.failed > 0 ? Tone::kBad : Tone::kPlain},
          {Hours(use.cpu)},
          {Hours(use.wall)},
          {known ? FormatSize(use.peak_memory) : "-"},
          {known ? fmt::format("{}M", use.suggested_memory >> 20) : "-"}};
}

void PrintTable(HistoryCall& call, const std::vector<UseFacts>& uses) {
  Table table({{"USER", Align::kLeft, 6},
               {"JOB", Align::kRight},
               {"NAME", Align::kLeft, 8},
               {"TASKS", Align::kRight},
               {"ENDS", Align::kRight},
               {"FAILED", Align::kRight},
               {"CPU-H", Align::kRight},
               {"WALL-H", Align::kRight},
               {"PEAK", Align::kRight},
               {"SUGGEST", Align::kRight}},
              call.width(), call.environment().colour,
              [&](std::string_view text) { call.Put(text); });
  for (const UseFacts& use : uses) table.Add(RowOf(use));
  table.Finish();
}

Result<int> TellSuggestion(HistoryCall& call, std::string_view job) {
  auto asker = call.Whom();
  if (!asker) return std::unexpected(std::move(asker.error()));
  auto suggestion = Suggest(**asker, job);
  if (!suggestion) return std::unexpected(call.Here(std::move(suggestion.error())));
  const UseFacts& use = suggestion->use;
  if (call.form() == OutputForm::kJson) {
    call.Put(JsonOf("use", use));
    return kExitSuccess;
  }
  call.Put(suggestion->Text() + '\n');
  if (call.human()) {
    call.Say(fmt::format("{} of {} tasks of job {} succeeded; peak memory {}, processor time {}",
                         FormatCount(use.tasks - use.failed), FormatCount(use.tasks),
                         use.job->value, FormatSize(use.peak_memory), FormatDuration(use.cpu)));
  }
  return kExitSuccess;
}

// "+94%": so much longer than alone.
Cell AgainstAlone(const PairFacts& pair) {
  constexpr double kMuch = 1.2;
  if (!pair.against_alone || pair.beside == kAlone) return {"-"};
  return {fmt::format("{:+.0f}%", 100 * (*pair.against_alone - 1)),
          *pair.against_alone > kMuch ? Tone::kBad : Tone::kPlain};
}

void PrintPairs(HistoryCall& call, const std::vector<PairFacts>& pairs) {
  Table table({{"BESIDE", Align::kLeft},
               {"TASKS", Align::kRight},
               {"MEDIAN WALL", Align::kRight},
               {"AGAINST ALONE", Align::kRight}},
              call.width(), call.environment().colour,
              [&](std::string_view text) { call.Put(text); });
  for (const PairFacts& pair : pairs) {
    table.Add({{pair.beside == kAlone ? pair.beside : pair.beside + " jobs"},
               {FormatCount(pair.tasks)},
               {FormatDuration(pair.median_wall)},
               AgainstAlone(pair)});
  }
  table.Finish();
}

void PrintJob(HistoryCall& call, const UseFacts& use, const std::vector<PairFacts>& pairs) {
  call.PutTitle();
  PrintTable(call, {use});
  if (!pairs.empty()) {
    call.Put("\n");
    PrintPairs(call, pairs);
  }
  if (call.on_hub() && use.suggested_time > Duration{}) {
    call.Say(fmt::format("for more tasks like these: spate submit --like {}{} -- COMMAND",
                         use.job->value, call.StateOption()));
  }
}

// One job, and how its tasks got on with others'.
Result<int> TellJob(HistoryCall& call) {
  auto jobs = SelectJobs(call.words().words);
  if (!jobs) return std::unexpected(std::move(jobs.error()));
  std::vector<PairFacts> pairs;
  auto compared = call.Ask(wire::ComparePairs{*jobs},
                           [&](PairFacts pair) { pairs.push_back(std::move(pair)); });
  if (!compared) return std::unexpected(std::move(compared.error()));
  wire::SumUse sum;
  sum.jobs = std::move(*jobs);
  std::optional<UseFacts> found;
  std::string problem = "no task of this job has ended yet";
  auto summed = call.Ask(std::move(sum), [&](UseFacts use) {
    if (!use.problem.empty()) problem = use.problem;
    if (use.problem.empty() && use.job) found = std::move(use);
  });
  if (!summed) return std::unexpected(std::move(summed.error()));
  if (!found) {
    call.Say(problem);
    return kExitSuccess;
  }
  if (call.human()) {
    PrintJob(call, *found, pairs);
    return kExitSuccess;
  }
  call.Put(JsonOf("use", *found));
  for (const PairFacts& pair : pairs) call.Put(JsonOf("pair", pair));
  return kExitSuccess;
}

// What is about one job has no place for what picks among many.
Status AboutAllOf(const Words& words, std::string_view what) {
  for (Opt other : {Opt::kSince, Opt::kOfUser}) {
    if (!words.Has(other)) continue;
    return Fail(ErrorKind::kInvalid, fmt::format("{} is about all of one job: leave out --{}", what,
                                                 Definition(other).names));
  }
  return {};
}

}  // namespace

Result<int> Report(HistoryCall& call) {
  const Words& words = call.words();
  if (auto job = words.Last(Opt::kSuggest)) {
    if (!words.words.empty()) return Fail(ErrorKind::kInvalid, "name the job once");
    if (auto sound = AboutAllOf(words, "--suggest"); !sound) return std::unexpected(sound.error());
    return TellSuggestion(call, *job);
  }
  if (!words.words.empty()) {
    if (auto sound = AboutAllOf(words, "JOB"); !sound) return std::unexpected(sound.error());
    return TellJob(call);
  }
  wire::SumUse question;
  question.user = call.words().Last(Opt::kOfUser).value_or("");
  if (auto value = call.words().Last(Opt::kSince)) {
    auto time = ParseDuration(*value);
    if (!time) return Within("--since", std::move(time.error()));
    question.since = call.now() - *time;
  }
  std::vector<UseFacts> uses;
  auto told = call.Ask(std::move(question), [&](UseFacts use) {
    if (!use.problem.empty()) return call.Say(use.problem);
    uses.push_back(std::move(use));
  });
  if (!told) return std::unexpected(std::move(told.error()));
  if (call.human()) {
    call.PutTitle();
    PrintTable(call, uses);
    if (uses.empty()) {
      call.Say(call.on_hub() ? "nothing has been used on the hub"
                             : fmt::format("nothing has been used in '{}'",
                                           EscapeForScreen(call.state_dir())));
    }
    return kExitSuccess;
  }
  for (const UseFacts& use : uses) call.Put(JsonOf("use", use));
  return kExitSuccess;
}

}  // namespace spate::cli
