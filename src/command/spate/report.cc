// `spate report`
#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/run_options.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/live_screen.h"
#include "present/json/json_fields.h"
#include "present/table/table.h"
#include "submit/suggestion.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr Option kSince = {.names = "since",
                           .argument = "T",
                           .heading = Heading::kSelect,
                           .help = "count only tasks that ended in the last T, as 7d"};

constexpr Option kOfUser = {.names = "user",
                            .argument = "NAME",
                            .heading = Heading::kSelect,
                            .help = "count only this user's tasks"};

constexpr Option kSuggest = {
    .names = "suggest",
    .argument = "JOB",
    .heading = Heading::kSelect,
    .help = "only suggest options for more tasks like a job's",
    .more =
        "Prints options for submit and run, by the needs of the job's tasks that succeeded: the "
        "highest average of processors of a task that ran for at least a second, the largest "
        "memory and the longest time, each plus 20%. For gangs, only the time."};

constexpr Option kLive = {.names = "live",
                          .heading = Heading::kOutput,
                          .help = "update the report every second, until Ctrl-C"};

constexpr std::string_view kAlone = "alone";  // PairFacts::beside

std::string Hours(Duration time) { return fmt::format("{:.2f}", time.seconds() / 3600); }

std::vector<present::Cell> RowOf(const UseFacts& use) {
  std::string failed = use.failed == 0 ? "0"
                                       : fmt::format("{} ({:.1f}%)", FormatCount(use.failed),
                                                     100 * use.failed_share);
  bool known = use.suggested_memory > 0;
  return {{use.user},
          {use.job ? fmt::format("{}", use.job->value) : "all"},
          {use.name.value_or("")},
          {FormatCount(use.tasks)},
          {FormatCount(use.ends)},
          {failed, use.failed > 0 ? present::Tone::kBad : present::Tone::kPlain},
          {Hours(use.cpu)},
          {Hours(use.wall)},
          {known ? FormatSize(use.peak_memory) : "-"},
          {known ? fmt::format("{}M", use.suggested_memory >> 20) : "-"}};
}

// `put` takes the text.
void PrintTable(const HistoryCall& call, const std::vector<UseFacts>& uses,
                const std::function<void(std::string_view)>& put) {
  present::Table table({{"USER", present::Align::kLeft, 6},
                        {"JOB", present::Align::kRight},
                        {"NAME", present::Align::kLeft, 8},
                        {"TASKS", present::Align::kRight},
                        {"ENDS", present::Align::kRight},
                        {"FAILED", present::Align::kRight},
                        {"CPU-H", present::Align::kRight},
                        {"WALL-H", present::Align::kRight},
                        {"PEAK", present::Align::kRight},
                        {"SUGGEST", present::Align::kRight}},
                       call.width(), call.environment().colour, put);
  for (const UseFacts& use : uses) table.Add(RowOf(use));
  table.Finish();
}

void PrintTable(HistoryCall& call, const std::vector<UseFacts>& uses) {
  PrintTable(call, uses, [&](std::string_view text) { call.Write(text); });
}

Result<int> TellSuggestion(HistoryCall& call, std::string_view job) {
  auto asker = TRY(call.Whom());
  auto suggestion = Suggest(*asker, job);
  if (!suggestion) return std::unexpected(std::move(suggestion.error()));
  const UseFacts& use = suggestion->use;
  if (call.form() == OutputForm::kJson) {
    call.Write(present::JsonOf("use", use));
    return kExitSuccess;
  }
  call.Write(suggestion->Text() + '\n');
  if (call.human()) {
    call.Report(fmt::format("{} of {} tasks of job {} succeeded; peak memory {}, processor time {}",
                            FormatCount(use.tasks - use.failed), FormatCount(use.tasks),
                            use.job->value, FormatSize(use.peak_memory), FormatDuration(use.cpu)));
  }
  return kExitSuccess;
}

// "+94%": so much longer than alone.
present::Cell AgainstAlone(const PairFacts& pair) {
  constexpr double kMuch = 1.2;
  if (!pair.against_alone || pair.beside == kAlone) return {"-"};
  return {fmt::format("{:+.0f}%", 100 * (*pair.against_alone - 1)),
          *pair.against_alone > kMuch ? present::Tone::kBad : present::Tone::kPlain};
}

void PrintPairs(HistoryCall& call, const std::vector<PairFacts>& pairs) {
  present::Table table({{"BESIDE", present::Align::kLeft},
                        {"TASKS", present::Align::kRight},
                        {"MEDIAN WALL", present::Align::kRight},
                        {"AGAINST ALONE", present::Align::kRight}},
                       call.width(), call.environment().colour,
                       [&](std::string_view text) { call.Write(text); });
  for (const PairFacts& pair : pairs) {
    table.Add({{pair.beside == kAlone ? pair.beside : pair.beside + " jobs"},
               {FormatCount(pair.tasks)},
               {FormatDuration(pair.median_wall)},
               AgainstAlone(pair)});
  }
  table.Finish();
}

void PrintJob(HistoryCall& call, const UseFacts& use, const std::vector<PairFacts>& pairs) {
  call.WriteTitle();
  PrintTable(call, {use});
  if (!pairs.empty()) {
    call.Write("\n");
    PrintPairs(call, pairs);
  }
  if (call.on_hub() && use.suggested_time > Duration{}) {
    call.Report(fmt::format("for more tasks like these: spate submit --like {}{} -- COMMAND",
                            use.job->value, call.StateOption()));
  }
}

// One job, and how its tasks got on with others'.
Result<int> TellJob(HistoryCall& call) {
  auto jobs = TRY(SelectJobs(call.words().words));
  std::vector<PairFacts> pairs;
  TRY(call.Query(wire::ComparePairs{jobs},
                 [&](PairFacts pair) { pairs.push_back(std::move(pair)); }));
  wire::SumUse sum;
  sum.jobs = std::move(jobs);
  std::optional<UseFacts> found;
  std::string problem = "no task of this job has ended yet";
  TRY(call.Query(std::move(sum), [&](UseFacts use) {
    if (!use.problem.empty()) problem = use.problem;
    if (use.problem.empty() && use.job) found = std::move(use);
  }));
  if (!found) {
    call.Report(problem);
    return kExitSuccess;
  }
  if (call.human()) {
    PrintJob(call, *found, pairs);
    return kExitSuccess;
  }
  call.Write(present::JsonOf("use", *found));
  for (const PairFacts& pair : pairs) call.Write(present::JsonOf("pair", pair));
  return kExitSuccess;
}

// An option about one job excludes options that pick among many.
Status AboutAllOf(const Words& words, std::string_view what) {
  for (const Option* other : {&kSince, &kOfUser}) {
    if (!words.Has(*other)) continue;
    return Fail(ErrorKind::kInvalid,
                fmt::format("{} reports all of one job; leave out --{}", what, other->names));
  }
  return {};
}

// `problems`: why jobs are left out.
Result<std::vector<UseFacts>> AskUses(HistoryCall& call, std::vector<std::string>& problems) {
  wire::SumUse question;
  question.user = call.words().Last(kOfUser).value_or("");
  if (auto value = call.words().Last(kSince)) {
    auto time = ParseDuration(*value);
    if (!time) return Within("--since", std::move(time.error()));
    question.since = call.now() - *time;
  }
  std::vector<UseFacts> uses;
  TRY(call.Query(std::move(question), [&](UseFacts use) {
    if (!use.problem.empty()) return problems.push_back(std::move(use.problem));
    uses.push_back(std::move(use));
  }));
  return uses;
}

// Until Ctrl-C.
Result<int> WatchReport(HistoryCall& call) {
  if (!call.human() || !call.environment().terminal) {
    return Fail(ErrorKind::kInvalid,
                "--live draws on a terminal; leave it out to print the report");
  }
  auto screen = TRY(LiveScreen::Open(call));
  for (bool more = true; more;) {
    std::vector<std::string> problems;
    auto uses = TRY(AskUses(call, problems));
    std::string text;
    PrintTable(call, uses, [&](std::string_view part) { text += part; });
    for (const std::string& problem : problems) text += EscapeForScreen(problem) + '\n';
    more = TRY(screen->Draw(text, true));
  }
  return kExitInterrupted;
}

Result<int> Report(HistoryCall& call) {
  const Words& words = call.words();
  if (words.Has(kLive)) {
    if (!words.words.empty() || words.Has(kSuggest)) {
      return Fail(ErrorKind::kInvalid, "--live shows the report of all users; name no job");
    }
    return WatchReport(call);
  }
  if (auto job = words.Last(kSuggest)) {
    if (!words.words.empty()) return Fail(ErrorKind::kInvalid, "name the job once");
    TRY(AboutAllOf(words, "--suggest"));
    return TellSuggestion(call, *job);
  }
  if (!words.words.empty()) {
    TRY(AboutAllOf(words, "JOB"));
    return TellJob(call);
  }
  std::vector<std::string> problems;
  auto uses = TRY(AskUses(call, problems));
  for (const std::string& problem : problems) call.Report(problem);
  if (call.human()) {
    call.WriteTitle();
    PrintTable(call, uses);
    if (uses.empty()) {
      call.Report(call.on_hub() ? "the hub has no usage to report"
                                : fmt::format("there is no usage to report in '{}'",
                                              EscapeForScreen(call.state_dir())));
    }
    return kExitSuccess;
  }
  for (const UseFacts& use : uses) call.Write(present::JsonOf("use", use));
  return kExitSuccess;
}

}  // namespace

extern const Command kSpateReport = {
    .order = 540,
    .group = CommandGroup::kHistory,
    .name = "report",
    .arguments = "[JOB]",
    .summary = "show the resource usage of users and their jobs",
    .details =
        "Every attempt that has ended counts, with its processor time and its wall time. SUGGEST "
        "is the largest peak of memory plus 20%, for --memory. Only administrators see more of "
        "other users' jobs than the sums per user.\nFor one job, the report also shows the median "
        "time of its tasks when they ran alone, and when they ran next to tasks of other jobs on "
        "the same node, by the bottleneck of those (`submit --bound`). If a job takes much longer "
        "next to one kind, keep the two apart.",
    .examples = {{{"spate report", "the whole history"},
                  {"spate report --since 7d --live", "the last week, as it grows"},
                  {"spate report 12", "one job, and its times next to other jobs"},
                  {"spate report --suggest 12", "options for more tasks like those of job 12"}}},
    .words_max = 1,
    .options = {{opt::kAboutJobs, kSince, kOfUser, kSuggest, kLive}},
    .run = LookAtJobs<Report>,
};

}  // namespace spate::cli::command
